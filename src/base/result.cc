#include "base/result.h"

#include <system_error>

namespace telltale {

std::string SystemErrorText(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace telltale
