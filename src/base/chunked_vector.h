#pragma once

// A vector for millions of rows: it grows without moving them, so that memory never holds them
// twice.

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace telltale {

template <typename T>
class ChunkedVector {
 public:
  static constexpr size_t kChunkRows = size_t{1} << 14;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return chunks_[i / kChunkRows][i % kChunkRows]; }
  const T& operator[](size_t i) const { return chunks_[i / kChunkRows][i % kChunkRows]; }
  T& back() { return chunks_.back().back(); }

  void push_back(T row) {
    if (size_ == chunks_.size() * kChunkRows) {
      chunks_.emplace_back();
      // Most vectors are small: the first chunk grows as it is needed.
      if (chunks_.size() > 1) chunks_.back().reserve(kChunkRows);
    }
    chunks_.back().push_back(std::move(row));
    ++size_;
  }

  // Drops the rows from `size` on.
  void Truncate(size_t size) {
    chunks_.resize((size + kChunkRows - 1) / kChunkRows);
    if (const size_t rest = size % kChunkRows; rest > 0) {
      std::vector<T>& last = chunks_.back();
      last.erase(last.begin() + static_cast<std::ptrdiff_t>(rest), last.end());
    }
    size_ = size;
  }

  // Moves the full chunks of `other` behind the own ones, which must be full too.
  void TakeFullChunks(ChunkedVector& other) {
    const size_t full = other.size_ / kChunkRows;
    const auto end = other.chunks_.begin() + static_cast<std::ptrdiff_t>(full);
    chunks_.insert(chunks_.end(), std::make_move_iterator(other.chunks_.begin()),
                   std::make_move_iterator(end));
    other.chunks_.erase(other.chunks_.begin(), end);
    other.size_ -= full * kChunkRows;
    size_ += full * kChunkRows;
  }

  template <typename Rows, typename Row>
  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): the standard library asks for these names
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Row*;
    using reference = Row&;
    // NOLINTEND(readability-identifier-naming)
    Iterator() = default;
    Iterator(Rows* rows, size_t at) : rows_(rows), at_(at) {}
    Row& operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {rows_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    Rows* rows_ = nullptr;
    size_t at_ = 0;
  };
  auto begin() { return Iterator<ChunkedVector, T>(this, 0); }
  auto end() { return Iterator<ChunkedVector, T>(this, size_); }
  auto begin() const { return Iterator<const ChunkedVector, const T>(this, 0); }
  auto end() const { return Iterator<const ChunkedVector, const T>(this, size_); }

 private:
  std::vector<std::vector<T>> chunks_;  // all but the last are full
  size_t size_ = 0;
};

// Drops the rows for which is_doomed(row) is true; returns how many.
template <typename T, typename IsDoomed>
size_t EraseIf(ChunkedVector<T>& rows, const IsDoomed& is_doomed) {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (is_doomed(rows[i])) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    ++kept;
  }
  const size_t erased = rows.size() - kept;
  rows.Truncate(kept);
  return erased;
}

}  // namespace telltale
