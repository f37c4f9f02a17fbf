// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/protocol.h"

namespace cloche::rpc {

RpcError rpc_error(const Error& error) {
  return {door_codes(error).rpc, named_sentence(error), {}};
}

std::string response(const Reply& id, Reply result) {
  Reply message;
  message["jsonrpc"] = "2.0";
  message["id"] = id;
  message["result"] = std::move(result);
  return write_json(message);
}

std::string error_response(const Reply& id, const RpcError& error) {
  Reply message;
  message["jsonrpc"] = "2.0";
  message["id"] = id;
  message["error"] = {{"code", error.code}, {"message", error.message}};
  if (!error.reason.empty()) message["error"]["data"] = {{"code", error.reason}};
  return write_json(message);
}

std::string server_message(std::string_view method, Reply params, std::string_view id) {
  Reply message;
  message["jsonrpc"] = "2.0";
  if (!id.empty()) message["id"] = id;
  message["method"] = method;
  message["params"] = std::move(params);
  return write_json(message);
}

}  // namespace cloche::rpc
