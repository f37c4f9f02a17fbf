// SPDX-License-Identifier: Apache-2.0
// The parts of Boost.Asio and Boost.Beast that are no templates.
//
// Without Boost's assertions: one of the HTTP parser of Boost 1.74 (parse_chunk_header: n >= 5)
// fails for a body whose last chunk comes as four bytes and then one. A client could end the server
// with it; the parser itself reads such a body as it should.
#define BOOST_DISABLE_ASSERTS
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
