// SPDX-License-Identifier: Apache-2.0
// The parts of Boost.Asio and Boost.Beast that are no templates.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
