"""What stands between engines and AXI4 masters: masters side by side for one array, and arbiters."""
