"""What a record of a device family is made of: its delays, cells, tools and bitstreams."""
