#pragma once

// XXH3-128 over a stream of bytes, with AVX2 where the processor has it: distributions build
// libxxhash for the oldest x86-64, which takes 2.5 times as long.

#include <cstddef>
#include <memory>

namespace telltale {

class Xxh3 {
 public:
  struct Digest {
    unsigned long long low = 0;
    unsigned long long high = 0;
  };

  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;

  void Add(const void* bytes, size_t size);
  // The digest of everything since the last one; starts anew.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace telltale
