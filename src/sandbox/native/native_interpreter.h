// SPDX-License-Identifier: Apache-2.0
// NativeInterpreter: one python3 of a box that stays, with what the host has of it. It runs
// src/native/python/driver.py, by these descriptors:
//
//   3  requests: how long the payload is and a limit of memory (8 bytes each, 0: none), what is
//      asked (NativeRequest, or python::Turn of an open session), the payload
//   4  answers, four bytes at once: the status
//   5  the library that freezes it    6  where it writes an image of itself
//   7  the port of a session: packets of at most `packet_bytes`, from it each with the number of
//      its frame and whether that ends with it, to it a stream
//   8  the modules of a session, as texts
//
// One that goes on from an image has been asked nothing, and answers that once to say that it
// lives. All that comes from it is a guest's word.
//
// Threads: one at a time. Destroying it ends the interpreter and what it has started.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "sandbox/native/kept_image.h"

namespace cloche::sandbox {

class FrozenImage;
class NativeBackend;
enum class PythonStart : std::uint8_t;  // of PythonStarts

enum class NativeRequest : char {
  program = 'p',
  freeze = 'z',
  open_session = 'o',
  preload = 'i',  // requirements, a line each: what these packages are imported by is imported
};

class NativeInterpreter {
 public:
  static constexpr std::size_t packet_bytes = 64 << 10;

  // What an interpreter goes on from.
  struct Image {
    SharedFile file;  // null: it begins
    SharedFile base;  // what the image names; null: nothing
  };

  // An interpreter on its way into a fork.
  struct Frozen {
    Image image;         // none: there is no interpreter, or it begins anew
    std::string reason;  // why it begins anew
  };

  enum class ImageUse : std::uint8_t { fork, start };

  // One that was started early (EarlyStarts), or goes on from where another one of the same start
  // was (PythonStarts); or begins, and need not be a session then.
  static Result<std::unique_ptr<NativeInterpreter>> begin(NativeBackend& sandbox, PythonStart what);
  static Result<std::unique_ptr<NativeInterpreter>> start(NativeBackend& sandbox, Image image);
  NativeInterpreter(const NativeInterpreter&) = delete;
  NativeInterpreter& operator=(const NativeInterpreter&) = delete;

  // Waits for the first word of one that goes on from an image. False: it is none.
  bool is_alive();
  // Between two requests.
  bool has_ended();
  // It goes on here, too; unless it has ended of that: has_ended() then. Where it has done nothing
  // since, what it wrote for the fork before is the image of this one.
  Frozen freeze(ImageUse use = ImageUse::fork);
  // It is asked something else.
  void begin_turn() {
    settle();
    kept_.forget();
  }

  native::Command& command() noexcept { return *command_; }
  UniqueFd& out() noexcept { return out_; }
  UniqueFd& err() noexcept { return err_; }
  int requests() const noexcept { return requests_.get(); }
  int port() const noexcept { return port_.get(); }
  int answers() const noexcept { return answers_.get(); }
  // Nothing, with errno: it has not answered yet; or, EPIPE, it never does, and is ended.
  std::optional<unsigned char> read_answer();
  // Whether there is one that nobody has read yet.
  bool has_answered() const noexcept;

  // What is sent to ask for that.
  static std::string request(char what, std::string_view payload, std::uint64_t memory_bytes = 0);

 private:
  explicit NativeInterpreter(NativeBackend& sandbox);
  Frozen take_image(ImageUse use, SharedFile kept);
  void settle();
  enum class Until : std::uint8_t { answer, whole };
  // What it answers to the order to freeze, with what it writes of itself until then; or that it
  // has done so, once the image is whole. Nothing: it has ended, or is ended.
  std::optional<unsigned char> await_answer(FrozenImage& image, Until until);

  NativeBackend& sandbox_;
  std::unique_ptr<native::Command> command_;
  UniqueFd out_, err_, requests_, answers_, images_, port_;
  SharedFile base_;  // what it has begun as, and its images name
  KeptImage kept_;
  bool is_thawing_ = false;  // it has not said yet that it lives
  bool has_ended_ = false;
  bool awaits_answer_ = false;  // to the last order to freeze
};

}  // namespace cloche::sandbox
