"""What stands around a simulated design: arrays, streams, memories, waveforms, project folders."""
