"""Programs, processes and threads of ours, and native code."""
