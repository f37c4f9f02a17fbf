// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_commands.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/host_thread.h"
#include "base/thread_name.h"
#include "sandbox/native/caller_program.h"

namespace cloche::sandbox {
namespace {

class NativeCommandFiles final : public CommandFiles {
 public:
  explicit NativeCommandFiles(FileBackend& files) : files_(files) {}

  bool has(std::string_view path) override { return files_.link_stat(path).ok(); }
  std::string head(std::string_view path, std::size_t size_bytes) override {
    const Result<FileInfo> info = files_.link_stat(path);
    if (!info || info->kind != FileKind::file) return {};
    Result<std::string> head = files_.read_range(path, 0, size_bytes);
    return head ? *std::move(head) : std::string();
  }
  // Whatever is there is not written through: it may be a link.
  Result<void> write(std::string_view path, std::string_view content) override {
    (void)files_.remove(path);
    return files_.write(path, content, 0755);
  }
  void remove(std::string_view path) override { (void)files_.remove(path); }

 private:
  FileBackend& files_;
};

}  // namespace

NativeCommands::NativeCommands(native::Box& box, std::vector<HostCommand> commands)
    : box_(box), commands_(std::move(commands)) {
  if (!commands_.list().empty()) listen();
}

NativeCommands::~NativeCommands() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    for (const Call& call : calls_) (void)::shutdown(call.socket.get(), SHUT_RDWR);
  }
  ring();
  if (thread_.joinable()) thread_.join();
  bury(true);
}

void NativeCommands::set(std::vector<HostCommand> commands, FileBackend& files) {
  const MutexLock setting(set_mutex_);
  NativeCommandFiles programs(files);
  if (!commands.empty()) {
    if (!listener_) listen();
    if (const Result<void> written = programs.write(host_command_program, caller_program());
        !written)
      throw Error(written.error(), std::string(host_command_program));
  }
  commands_.set(std::move(commands), programs);
}

void NativeCommands::listen() {
  Result<UniqueFd> listener = box_.open_calls();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener || !wake)
    throw Error(listener ? Errno::mfile : listener.error(),
                "the box has no place where commands of the host are called");
  listener_ = *std::move(listener);
  wake_ = std::move(wake);
  try {
    thread_ = host_thread("commands of the host",
                          with_name("cloche-hostcall", [this] { accept_calls(); }));
  } catch (const Error&) {
    listener_.reset();
    wake_.reset();
    throw;
  }
}

void NativeCommands::accept_calls() {
  for (;;) {
    bool has_room = false;
    {
      const MutexLock lock(mutex_);
      if (ending_) return;
      has_room = calls_.size() < most_threads;
    }
    std::array<pollfd, 2> waiting{
        {{wake_.get(), POLLIN, 0}, {has_room ? listener_.get() : -1, POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    std::uint64_t count = 0;
    if (waiting[0].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
    bury(false);
    if (waiting[1].revents != 0) take_call();
  }
}

void NativeCommands::take_call() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return;
  const MutexLock lock(mutex_);
  if (ending_) return;
  Call& call = calls_.emplace_back();
  call.socket = std::move(socket);
  try {
    call.thread = std::thread(with_name("cloche-hostcall", [this, &call] { serve(call); }));
  } catch (const std::system_error&) {  // the host has no more threads
    calls_.pop_back();
  }
}

void NativeCommands::serve(Call& call) noexcept {
  try {
    NativeCall process(call.socket.get(), room_);
    if (process.begin()) process.leave(commands_.run(process));
  } catch (const std::bad_alloc&) {  // the caller hears the end of its socket
  }
  (void)::shutdown(call.socket.get(), SHUT_RDWR);
  {
    const MutexLock lock(mutex_);
    call.over = true;
  }
  ring();
}

void NativeCommands::bury(bool all) {
  std::list<Call> over;
  {
    const MutexLock lock(mutex_);
    for (auto call = calls_.begin(); call != calls_.end();) {
      const auto next = std::next(call);
      if (all || call->over) over.splice(over.end(), calls_, call);
      call = next;
    }
  }
  for (Call& call : over) call.thread.join();
}

void NativeCommands::ring() noexcept {
  const std::uint64_t one = 1;
  if (wake_) (void)!::write(wake_.get(), &one, sizeof one);
}

}  // namespace cloche::sandbox
