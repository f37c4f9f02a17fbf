// SPDX-License-Identifier: Apache-2.0
// Python in a sandbox that calls functions of this program: one that answers at once, one that
// answers later from a thread of its own, and one that fails. Names stay from one execution to the
// next, and go on in a fork.
#include <cloche/engine.h>
#include <cloche/python_session.h>

#include <iostream>
#include <thread>
#include <vector>

namespace {

void show(std::string_view what, const cloche::ExecuteResult& result) {
  std::cout << what << ": " << result.stdout_data;
  if (result.result_repr) std::cout << *result.result_repr << "\n";
  if (result.error) std::cout << result.error->type << ": " << result.error->message << "\n";
}

}  // namespace

int main() try {
  cloche::Engine engine({});
  cloche::PythonSession session(engine, {.timeout = std::chrono::milliseconds(20'000)});

  // Arguments and results are JSON. What does not satisfy the schema never arrives here.
  session.add_callback(
      {.name = "stock.price",
       .description = "The price of a share.",
       .parameters_schema =
           R"({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})",
       .handler = [](cloche::CallbackCall& call) {
         return call.arguments().find("ACME") != std::string::npos ? "42.5" : "null";
       }});

  std::vector<std::jthread> threads;
  session.add_callback(
      {.name = "slow", .async_handler = [&](std::shared_ptr<cloche::CallbackCall> call) {
         threads.emplace_back([call] { call->reply(R"("done")"); });
       }});
  session.add_callback({.name = "broken", .handler = [](cloche::CallbackCall& call) -> std::string {
                          call.fail("the printer is out of paper", "PrinterError");
                          return {};
                        }});

  show("price", session.execute("price = await stock.price(name='ACME')\nprice * 2"));
  show("slow", session.execute("await slow()"));
  show("broken", session.execute("await broken()"));
  show("wrong arguments", session.execute("await stock.price(name=1)"));

  const auto twin = session.fork();
  show("in a fork", twin->execute("price"));
  return 0;
} catch (const cloche::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
