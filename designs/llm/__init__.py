"""A spatial transformer: model, training, quantisation, bit-exact reference, accelerator."""
