// C++: exceptions through frames and destructors, rethrow, exception_ptr, iostream, containers, function-local statics.
#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int alive = 0;

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

void dive(int depth) {
  Counted counted;
  if (depth == 0) throw std::runtime_error("from the deep");
  dive(depth - 1);
}

std::exception_ptr capture() {
  try {
    throw std::out_of_range("kept");
  } catch (...) {
    return std::current_exception();
  }
}

int once() {
  static const int value = [] { return 17; }();
  return value;
}

}  // namespace

int main() {
  try {
    dive(50);
  } catch (const std::exception& error) {
    std::cout << "caught " << error.what() << ", alive " << alive << "\n";
  }
  try {
    try {
      throw 5;
    } catch (int) {
      throw;
    }
  } catch (int value) {
    std::cout << "rethrown " << value << "\n";
  }
  try {
    std::rethrow_exception(capture());
  } catch (const std::logic_error& error) {
    std::cout << "pointer " << error.what() << "\n";
  }
  try {
    std::cout << std::vector<int>(3).at(7);
  } catch (const std::out_of_range&) {
    std::cout << "at is checked\n";
  }
  std::map<std::string, int> words;
  std::istringstream in("b a c a");
  for (std::string word; in >> word;) ++words[word];
  for (const auto& [word, count] : words) std::cout << word << count << " ";
  std::vector<int> numbers = {3, 1, 2};
  std::sort(numbers.begin(), numbers.end());
  std::cout << numbers[0] << numbers[1] << numbers[2] << " " << once() << " " << 1.5 << std::endl;
  return 0;
}
