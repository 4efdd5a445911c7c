#pragma once

// Expected failures are values: a Result<T> holds a T or an Error that says which thing failed,
// what was expected, what was found and what to do. Exceptions are for defects only; library code
// neither prints nor exits.

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace telltale {

struct Error {
  std::string message;

  // Puts the larger thing that failed in front: "ingest a.log: read: Input/output error".
  Error Within(std::string_view context) const {
    return Error{fmt::format("{}: {}", context, message)};
  }
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <typename... Args>
tl::unexpected<Error> Fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

// The error of a failed system call, in the C library's words.
std::string SystemErrorText(int error_number);

}  // namespace telltale

#define TELLTALE_CONCAT_(a, b) a##b
#define TELLTALE_CONCAT(a, b) TELLTALE_CONCAT_(a, b)

// Returns the error of `expression` from the calling function, if it has one.
#define TELLTALE_TRY(expression)                                 \
  do {                                                           \
    auto telltale_status = (expression);                         \
    if (!telltale_status) {                                      \
      return tl::unexpected(std::move(telltale_status).error()); \
    }                                                            \
  } while (false)

// Declares `declaration` with the value of `expression`, or returns its error.
#define TELLTALE_ASSIGN(declaration, expression) \
  TELLTALE_ASSIGN_(TELLTALE_CONCAT(telltale_result_, __LINE__), declaration, expression)
#define TELLTALE_ASSIGN_(result, declaration, expression) \
  auto result = (expression);                             \
  if (!result) {                                          \
    return tl::unexpected(std::move(result).error());     \
  }                                                       \
  declaration = std::move(result).value()
