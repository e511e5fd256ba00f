"""Matrix products and convolutions for machines without oneDNN."""
