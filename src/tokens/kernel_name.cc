#include "tokens/kernel_name.h"

#include <cstddef>
#include <vector>

namespace telltale::tokens {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

// How many bytes of the text are the symbol behind the word "operator"; 0 for the name of a type.
size_t SymbolBytes(std::string_view text) {
  const size_t blank = text.starts_with(' ') ? 1 : 0;
  const std::string_view symbol = text.substr(blank);
  for (const std::string_view bracket :
       {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "<", ">"}) {
    if (symbol.starts_with(bracket)) return blank + bracket.size();
  }
  return 0;
}

class Stripper {
 public:
  explicit Stripper(std::string_view text) : text_(text) {
    while (text_.ends_with(' ')) text_.remove_suffix(1);
  }

  std::string Path() {
    while (at_ < text_.size()) {
      if (!Step()) return {};
    }
    if (!open_.empty()) return {};
    while (path_.ends_with(' ')) path_.pop_back();
    // Without arguments behind it, a blank may be part of a name that is not C++.
    return called_ && name_begin_ < path_.size() ? path_.substr(name_begin_) : path_;
  }

 private:
  bool Outside() const { return open_.empty(); }
  std::string_view Rest() const { return text_.substr(at_); }
  bool AtWord() const { return at_ == 0 || !IsWord(text_[at_ - 1]); }

  void Emit(std::string_view bytes) {
    if (Outside()) path_ += bytes;
  }

  bool Step() {
    const char c = text_[at_];
    if (c == 'o' && AtWord() && TakeOperator()) return true;
    switch (c) {
      case '<':
        return Angle();
      case '(':
        if (Rest().starts_with(kAnonymous)) return Keep(kAnonymous, kAnonymous.size());
        Open(c);
        return true;
      case '{':
      case '[':
        OpenNamed(c);
        return true;
      case '>':
        return CloseAngle();
      case ')':
        return Close('(');
      case '}':
        return Close('{');
      case ']':
        return Close('[');
      case ' ':
        Blank();
        return true;
      default:
        break;
    }
    if (Rest().starts_with("->")) return Keep("->", 2);
    Emit(text_.substr(at_, 1));
    ++at_;
    return true;
  }

  bool Keep(std::string_view as, size_t bytes) {
    Emit(as);
    at_ += bytes;
    return true;
  }

  bool TakeOperator() {
    constexpr std::string_view kWord = "operator";
    if (!Rest().starts_with(kWord)) return false;
    const std::string_view behind = Rest().substr(kWord.size());
    if (!behind.empty() && IsWord(behind[0])) return false;
    const size_t symbol = SymbolBytes(behind);
    if (symbol > 0) {
      Emit(kWord);
      Emit(behind.substr(behind[0] == ' ' ? 1 : 0, symbol - (behind[0] == ' ' ? 1 : 0)));
    } else {
      if (Outside()) in_conversion_ = true;  // "operator unsigned int": its blanks are its own
      Emit(kWord);
    }
    at_ += kWord.size() + symbol;
    // Demanglers part "operator< <int>" from "operator<<".
    if (symbol > 0 && Rest().starts_with(" <")) ++at_;
    after_operator_ = at_;
    return true;
  }

  bool Angle() {
    // How nvcc's demangler writes it.
    if (Rest().starts_with("<unnamed>")) return Keep(kAnonymous, 9);
    const bool begins_arguments =
        at_ > 0 && (IsWord(text_[at_ - 1]) || text_[at_ - 1] == '\'' || after_operator_ == at_);
    if (Outside() && !begins_arguments) return false;
    Open('<');
    return true;
  }

  void Open(char bracket) {
    if (Outside()) called_ = true;
    open_.push_back(bracket);
    ++at_;
  }

  // "{lambda(int)#1}", "[lambda(int) (instance 1)]", "{unnamed type#1}", "[clone .kd]".
  void OpenNamed(char bracket) {
    if (!Outside()) {
      open_.push_back(bracket);
      ++at_;
      return;
    }
    size_t end = at_ + 1;
    while (end < text_.size() && (IsWord(text_[end]) || text_[end] == ' ')) ++end;
    std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (bracket == '{' || word == "lambda") {
      path_ += '{';
      path_ += word;
      path_ += '}';
    }
    open_.push_back(bracket);
    at_ = end;
  }

  bool CloseAngle() {
    if (Outside()) return false;
    if (open_.back() == '<') open_.pop_back();  // else it is a comparison in parentheses
    ++at_;
    return true;
  }

  bool Close(char bracket) {
    // What looked like an opening bracket within these was a comparison.
    while (!open_.empty() && open_.back() == '<') open_.pop_back();
    if (open_.empty() || open_.back() != bracket) return false;
    open_.pop_back();
    ++at_;
    if (!Outside() || bracket != '(') return true;
    for (const std::string_view qualifier : {" const", " volatile", " &&", " &"}) {
      if (!Rest().starts_with(qualifier)) continue;
      const std::string_view behind = Rest().substr(qualifier.size());
      if (behind.empty() || !IsWord(behind[0])) at_ += qualifier.size();
    }
    return true;
  }

  void Blank() {
    if (Outside()) {
      path_ += ' ';
      const std::string_view behind = Rest().substr(1);
      // Before "[clone .kd]" and parameters the name goes on.
      const bool goes_on =
          behind.starts_with('[') || (behind.starts_with('(') && !behind.starts_with(kAnonymous));
      if (!in_conversion_ && !goes_on) {
        name_begin_ = path_.size();
        called_ = false;
      }
    }
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<char> open_;
  std::string path_;
  size_t name_begin_ = 0;  // in the path: behind the return type
  bool called_ = false;    // arguments follow the name
  bool in_conversion_ = false;
  size_t after_operator_ = std::string_view::npos;
};

}  // namespace

std::string FunctionPath(std::string_view name) { return Stripper(name).Path(); }

}  // namespace telltale::tokens
