// SPDX-License-Identifier: Apache-2.0
// Which cell gets a new session.
//
// Always the emptiest one would be wrong: what is known of the others is half a second old, so all
// would choose the same. Of three that are drawn the one with the most room is chosen, which keeps
// the fullest within some hundredths of the mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cloche::cluster {

// Gives a number below the one that it is given.
using Draw = std::function<std::size_t(std::size_t)>;
std::size_t draw_random(std::size_t below);

// Up to three different indices of `headrooms` that are more than 0, the best first.
std::vector<std::size_t> pick_three(std::span<const double> headrooms, const Draw& draw);

}  // namespace cloche::cluster
