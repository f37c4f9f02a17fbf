// SPDX-License-Identifier: Apache-2.0
// RegistryClient: one repository of a registry, by OCI's distribution API. For one thread.
//
// Who asks is told to the registry alone, as it wants: by Basic, or by a token of the place that it
// names (Bearer). Where it leads elsewhere, as to a store of blobs, nobody is told. Without TLS
// only this machine is asked, or any registry where the caller says so, and never from an answer
// that came by TLS. What fails on the way is tried again, a few times.
#pragma once

#include <functional>
#include <string>

#include "native/images/manifest.h"
#include "native/images/reference.h"
#include "native/pull/blob_folder.h"
#include "native/pull/credentials.h"
#include "native/pull/http_get.h"
#include "native/pull/url.h"

namespace cloche::pull {

enum class Transport : std::uint8_t { secure, plain };

class RegistryClient {
 public:
  RegistryClient(const images::Reference& reference, Credentials credentials, Transport transport);

  // The manifest or index of that tag or digest, which has been found right. Throws Error.
  std::string manifest(const std::string& version);
  // Fills the file, and finishes it. Throws Error.
  void fetch(const images::Descriptor& blob, BlobFile& file);

 private:
  HttpAnswer get(const std::string& path, const std::string& accept, std::uint64_t from,
                 const BodySink& sink);
  // Again while it is worth it; `started` is called before each time, and says where to begin.
  HttpAnswer get_in_the_end(const std::string& path, const std::string& accept,
                            const std::function<std::uint64_t()>& started, const BodySink& sink);
  void check_step(const Url& from, const Url& to) const;
  void authorize(const HttpAnswer& answer);
  std::string token(const std::string& realm, const std::string& service, const std::string& scope);
  std::string basic() const;
  [[noreturn]] void refuse(const HttpAnswer& answer, const std::string& what) const;

  const images::Reference reference_;
  const Credentials credentials_;
  const Transport transport_;
  const Url base_;
  const std::string origin_;
  std::string authorization_;
  HttpGet http_;
};

}  // namespace cloche::pull
