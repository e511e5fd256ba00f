"""`thunk.utils.model_zoo`: the older name of `thunk.hub`'s downloads."""

from thunk.hub import load_state_dict_from_url

load_url = load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]
