// SPDX-License-Identifier: Apache-2.0
#include "sandbox/input_pump.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/host_error.h"
#include "base/thread_name.h"
#include "sandbox/read_ready.h"

namespace cloche::sandbox {

InputPump::InputPump(int fd, kernel::HostPipe& pipe)
    : fd_(fd), pipe_(pipe), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw HostError::from_errno("cannot pass on standard input", errno);
  try {
    thread_ = std::thread(with_name("cloche-input", [this] { run(); }));
  } catch (const std::system_error& error) {
    throw HostError(std::string("cannot pass on standard input: ") + error.what(), Errno::again);
  }
}

InputPump::~InputPump() {
  pipe_.cancel();
  const std::uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void InputPump::run() noexcept {
  if (!pipe_.wait_until_wanted()) return pipe_.close();
  std::array<std::byte, 65536> buffer;
  for (;;) {
    std::array<pollfd, 2> wanted{pollfd{fd_, POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) break;
    if (wanted[1].revents != 0) break;
    if (wanted[0].revents == 0) continue;
    const ssize_t got = read_ready(fd_, buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    std::span<const std::byte> rest(buffer.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const Result<std::size_t> written = pipe_.write(rest);
      if (!written) return;
      rest = rest.subspan(*written);
    }
  }
  pipe_.close();
}

}  // namespace cloche::sandbox
