"""Where public datasets come from and which MD5 sums their files have. The only place for URLs."""

from __future__ import annotations

Files = tuple[tuple[str, str], ...]

_IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)

MNIST_MIRRORS = (
    "http://yann.lecun.com/exdb/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
MNIST_SUMS = (
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
FASHION_MIRRORS = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
FASHION_SUMS = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
KUZUSHIJI_MIRRORS = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
KUZUSHIJI_SUMS = (
    "bdb82020997e1d708af4cf47b453dcf7",
    "e144d726b3acfaa3e44228e80efcd344",
    "5c965bf0a639b31b8f53240b1b52f4d7",
    "7320c461ea6c1c855c0b718fb2a4b134",
)
EMNIST_URL = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
EMNIST_SUM = "58c8d27c78d21e728a6bc7b3cc06412e"

CIFAR10_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
CIFAR10_SUM = "c58f30108f718f92721af3b95e74349a"
CIFAR10_TRAIN: Files = (
    ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
    ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
    ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
    ("data_batch_4", "634d18415352ddfa80567beed471001a"),
    ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
)
CIFAR10_TEST: Files = (("test_batch", "40351d587109b95175f43aff81a1287e"),)
CIFAR10_META = ("batches.meta", "5ff9c542aee3614f3951f8cda6e48888")

CIFAR100_URL = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
CIFAR100_SUM = "eb9058c3a382ffc7106e4002c42a8d85"
CIFAR100_TRAIN: Files = (("train", "16019d7e3df5f24257cddd939b257f8d"),)
CIFAR100_TEST: Files = (("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),)
CIFAR100_META = ("meta", "7973b15100ade9c7d40fb424638fde48")


def idx_files(sums: tuple[str, str, str, str]) -> Files:
    """The four files of a dataset in MNIST's form, with their sums."""
    return tuple(zip(_IDX, sums))
