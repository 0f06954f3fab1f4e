// Memories of an XLS[cc] block, for running it as plain C++.
#ifndef ALLO_SHIM_XLS_MEMORY_H
#define ALLO_SHIM_XLS_MEMORY_H

template <typename T, int N> class __xls_memory {
  T words_[N];

 public:
  T &operator[](long long address) { return words_[address]; }
};

#endif
