"""The emitter: core IR to C++, one file a group of operations."""
