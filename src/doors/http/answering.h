// SPDX-License-Identifier: Apache-2.0
// answering: work that makes the answer to a request, as a job for whoever has a thread for it.
#pragma once

#include <functional>
#include <memory>

#include "doors/http/message.h"

namespace cloche::http {

class Exchange;

// Sends what `work` returns, once what it holds is gone: its use of a sandbox ends before the
// client is told. Where it throws, the answer is that of `failed`, which must not throw, to the
// reason.
std::function<void()> answering(std::shared_ptr<Exchange> exchange, std::function<Response()> work,
                                Response (*failed)(const char* why));

}  // namespace cloche::http
