// SPDX-License-Identifier: Apache-2.0
// Url: an address of HTTP as libcurl reads it, so that what is checked is what is asked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct Curl_URL;

namespace cloche::pull {

class Url {
 public:
  // Throws Error with one sentence for a text that is no http:// or https:// address, or has a user
  // in it.
  explicit Url(const std::string& text);

  // What a Location says that came from here. Throws as the constructor.
  Url at(const std::string& location) const;
  // With one more parameter; its value may be anything.
  Url with(const std::string& name, const std::string& value) const;

  std::string text() const;
  std::string scheme() const;
  std::string host() const;
  // Scheme, host and port.
  std::string origin() const;

 private:
  struct Free {
    void operator()(Curl_URL* url) const noexcept;
  };
  explicit Url(Curl_URL* url) : url_(url) {}
  void check(const std::string& said) const;
  std::string part(int which, unsigned flags) const;

  std::unique_ptr<Curl_URL, Free> url_;
};

// localhost, a name below it, or an address of the loopback.
bool is_own_machine(std::string_view host);

}  // namespace cloche::pull
