#pragma once

#include <string>
#include <string_view>

namespace telltale::tokens {

// The path of a C++ function as profilers write it, without return type, template arguments,
// parameters and qualifiers: "void a::(anonymous namespace)::f<4, g<int> >(int*) const" ->
// "a::(anonymous namespace)::f". Lambdas are "{lambda}" whoever wrote them. Empty if brackets do
// not match or nothing is left.
std::string FunctionPath(std::string_view name);

}  // namespace telltale::tokens
