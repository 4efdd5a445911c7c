// A guess is never part of the answer: with any, the same is read as by digits.h.

#include "base/guessed_digits.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace telltale {
namespace {

// With something in front of the number and room behind it, as in a line.
std::string InLine(const std::string& number) { return "9999999:" + number + std::string(64, '7'); }
constexpr size_t kInFront = 8;

// check(first, guess, bytes) sees the first guess, and the one left behind a number of so many
// bytes.
template <typename Read, typename ReadGuessed, typename Check>
void ReadWithGuessesTo(DigitsGuess most, const std::string& number, const Read& read,
                       const ReadGuessed& read_guessed, const Check& check) {
  const std::string text = InLine(number);
  for (DigitsGuess first = 1; first <= most; ++first) {
    DigitsGuess guess = first;
    const char* at = text.data() + kInFront;
    const char* expected_at = at;
    uint64_t value = 0;
    uint64_t expected = 0;
    const bool good = read(expected_at, expected);
    ASSERT_EQ(read_guessed(at, guess, value), good) << number << " guess " << first;
    ASSERT_TRUE(guess >= 1 && guess <= most) << number << " guess " << first;
    if (!good) continue;
    ASSERT_EQ(value, expected) << number << " guess " << first;
    ASSERT_EQ(at, expected_at) << number << " guess " << first;
    check(first, guess, static_cast<DigitsGuess>(at - text.data()) - kInFront);
  }
}

void ReadIntegerWithEveryGuess(const std::string& number) {
  ReadWithGuessesTo(8, number, ReadInteger, ReadGuessedInteger,
                    [&](DigitsGuess first, DigitsGuess guess, DigitsGuess digits) {
                      ASSERT_EQ(guess, digits <= 8 ? digits : first) << number;
                    });
}

void ReadMillionthsWithEveryGuess(const std::string& number) {
  ReadWithGuessesTo(3, number, ReadMillionths, ReadGuessedMillionths,
                    [](DigitsGuess, DigitsGuess, DigitsGuess) {});
}

std::string Digits(size_t count, std::mt19937_64& random) {
  std::string digits(count, '0');
  for (char& c : digits) c = static_cast<char>('0' + random() % 10);
  return digits;
}

TEST(GuessedDigits, Integers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string number = Digits(random() % 19, random) + ",";
    ReadIntegerWithEveryGuess(number);
    number[random() % number.size()] = static_cast<char>(random());
    ReadIntegerWithEveryGuess(number);
  }
}

TEST(GuessedDigits, Millionths) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    std::string number = Digits(random() % 11, random) + "." + Digits(6, random);
    ReadMillionthsWithEveryGuess(number + ",");
    number[random() % number.size()] = static_cast<char>(random());
    // A seventh digit behind the point is for the caller to see.
    if (number.find('.') != number.size() - 7) continue;
    ReadMillionthsWithEveryGuess(number + "}");
  }
}

TEST(GuessedDigits, EveryByteInEveryPlace) {
  for (const std::string number : {"1.234567", "12.345678", "123.456789", "1234.567890"}) {
    for (size_t i = 0; i < number.size(); ++i) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string other = number;
        other[i] = static_cast<char>(byte);
        ReadMillionthsWithEveryGuess(other + ",");
      }
    }
  }
  for (const std::string number : {"1,", "12,", "1234567,", "12345678,", "123456789,"}) {
    for (size_t i = 0; i < number.size(); ++i) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string other = number;
        other[i] = static_cast<char>(byte);
        ReadIntegerWithEveryGuess(other);
      }
    }
  }
}

}  // namespace
}  // namespace telltale
