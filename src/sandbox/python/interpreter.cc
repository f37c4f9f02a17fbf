// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/interpreter.h"

#include <map>
#include <string>
#include <utility>

#include "kernel/kernel.h"

namespace cloche::sandbox {

python::SessionOptions interpreter_options(SandboxState& state, kernel::FilePtr out,
                                           kernel::FilePtr err) {
  python::SessionOptions options;
  options.environment = state.environment(std::map<std::string, std::string>());
  options.cwd = state.home();
  options.files[0] = std::make_shared<kernel::BytesFile>(state.kernel(), std::string());
  options.files[1] = std::move(out);
  options.files[2] = std::move(err);
  return options;
}

Result<std::unique_ptr<python::PythonSession>> start_interpreter(
    SandboxState& state, python::PythonRuntime& runtime, python::SessionOptions options,
    const std::shared_ptr<python::OwnImage>& image) {
  if (!image) return python::PythonSession::start(runtime, state.kernel(), std::move(options));
  return python::PythonSession::start_from(
      runtime, state.kernel(), std::move(options), image->memory, python::Turn::join,
      std::shared_ptr<wasm::HotPages>(image, &image->session_pages));
}

}  // namespace cloche::sandbox
