// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

int main() {
  std::map<std::string, int> counts;
  for (std::string word; std::cin >> word;) ++counts[word];
  try {
    std::cout << counts.at("the") << " times 'the', " << counts.size() << " different words\n";
  } catch (const std::out_of_range&) {
    std::cout << "no 'the'\n";
  }
}
