#pragma once

// An array of zeros that costs nothing until it is written to: the kernel gives its pages one by
// one as threads touch them, large ones where it can. For arrays of hundreds of megabytes, which
// std::vector would fill on one thread first.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

namespace telltale {

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size) : size_(size) {
    if (size == 0) return;
    void* const memory =
        ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    (void)::madvise(memory, bytes(), MADV_HUGEPAGE);
#endif
    data_ = static_cast<T*>(memory);
  }
  ~ZeroedArray() {
    if (data_ != nullptr) ::munmap(data_, bytes());
  }
  ZeroedArray(ZeroedArray&& other) noexcept { swap(other); }
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t bytes() const { return size_ * sizeof(T); }
  void swap(ZeroedArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace telltale
