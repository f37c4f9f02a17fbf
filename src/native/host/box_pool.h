// SPDX-License-Identifier: Apache-2.0
// BoxPool: boxes that are made before anybody wants them. Who wants one of an image that was wanted
// before, with nothing that must be there from the beginning, may find one: it is given once, and
// gets its limits then (Box::settle); behind gVisor it has those that were wanted before. Nothing
// of another sandbox is in it, for nothing has run there.
//
// A thread makes them, one at a time and while nobody waits for one that is made. At most
// `most_boxes` wait, for `most_images` kinds; those of a kind that nobody has wanted for `rest`
// are ended, as is all of the pool by clear().
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_number.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "native/host/box_plan.h"

namespace cloche::native {

class BoxPool {
 public:
  struct Options {
    // 0: there are none. Behind gVisor, whose kernel takes memory by itself, half as many.
    std::size_t boxes_of_a_kind = 4;
    std::size_t most_boxes = 8;
    std::size_t most_kinds = 4;
    std::chrono::milliseconds rest{60'000};
  };
  // Makes a box to be given later. May throw; then nothing is made of this kind until it is wanted
  // again.
  using Make = std::function<std::unique_ptr<Box>(const BoxPlan& plan)>;

  BoxPool(Options options, Make make);
  ~BoxPool() { end(); }
  BoxPool(const BoxPool&) = delete;
  BoxPool& operator=(const BoxPool&) = delete;

  // Null: there is none, or it must be made for the plan.
  std::unique_ptr<Box> take(const BoxPlan& plan);

  // While it lives somebody waits for a box that is made for a plan.
  class Wait {
   public:
    explicit Wait(BoxPool& pool);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    BoxPool& pool_;
  };

  // The boxes that are there, or are being made, are of no use any more.
  void clear();
  // Ends its boxes and its thread; there are none from then on.
  void end();

  // Whether it ever has any.
  bool is_on() const noexcept { return options_.boxes_of_a_kind > 0; }
  std::size_t ready() const;

 private:
  struct Kind {
    // What it has from its beginning behind gVisor, and gets later elsewhere.
    struct Settled {
      BoxLimits limits;
      std::string home;
      bool operator==(const Settled&) const = default;
    };
    FileNumber image;
    std::uint32_t user = 0, group = 0;
    std::optional<Settled> settled;
    bool operator==(const Kind&) const = default;
  };
  struct Shelf {
    Kind kind;
    UniqueFd image;  // so that its number is no other's
    UniqueFd runsc;  // of gVisor
    std::vector<std::unique_ptr<Box>> boxes;
    SteadyTime wanted;  // at last
    bool is_wanted_again = false;
    std::uint64_t wishes = 0;
    std::uint64_t failed_wish =
        0;  // that none could be made for: before the next one none is tried
  };
  using Shelves = std::list<Shelf>;

  static std::optional<Kind> kind_of(const BoxPlan& plan);
  Shelves::iterator find(const Kind& kind) REQUIRES(mutex_);
  std::size_t most_of(const Kind& kind) const;
  Shelf* next_to_fill() REQUIRES(mutex_);
  std::size_t count() const REQUIRES(mutex_);
  bool begin() REQUIRES(mutex_);
  void work();
  void fill_one();
  // Takes out what nobody has wanted for long, for the caller to end without the lock.
  Shelves take_rested(SteadyTime now) REQUIRES(mutex_);

  const Options options_;
  const Make make_;
  mutable Mutex mutex_;
  Condition changed_;
  Shelves shelves_ GUARDED_BY(mutex_);
  std::uint64_t era_ GUARDED_BY(mutex_) = 0;  // counts clear()
  int waits_ GUARDED_BY(mutex_) = 0;
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace cloche::native
