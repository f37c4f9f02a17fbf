// SPDX-License-Identifier: Apache-2.0
#include "engines_testing.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "native/host/test_image_testing.h"
#include "native/images/image_store.h"

namespace cloche::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* image = "test";

// The store of images that has the one of all tests.
class Store {
 public:
  Store() {
    std::string name = (fs::temp_directory_path() / "cloche-images-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    fs::permissions(folder_, fs::perms(0755));
    ::setenv("CLOCHE_IMAGES", name.c_str(), 1);
    (void)images::ImageStore({.folder = folder_, .unpacker = {}})
        .import(native::test_image(), image);
  }
  ~Store() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

 private:
  fs::path folder_;
};

}  // namespace

void OnEachEngine::SetUp() {
  if (is_linux()) CLOCHE_NEEDS_BOXES();
}

Engine& OnEachEngine::engine() {
  static const std::unique_ptr<Store> store =
      native::no_boxes_here().empty() ? std::make_unique<Store>() : nullptr;
  static Engine shared(EngineOptions{.system_folder = CLOCHE_ROOTFS_DIR});
  return shared;
}

SandboxOptions OnEachEngine::of_engine(SandboxOptions options) const {
  options.engine = GetParam();
  if (is_linux()) options.image = image;
  return options;
}

std::unique_ptr<Sandbox> OnEachEngine::make_sandbox(SandboxOptions options) const {
  return engine().create(of_engine(std::move(options)));
}

void OnChangedImage::SetUp() {
  OnEachEngine::SetUp();
  if (IsSkipped()) return;
  if (!is_linux()) GTEST_SKIP() << "the other engine has no images to change";
  const auto before = make_sandbox();
  const RunResult changed = before->run({.script = script_});
  ASSERT_EQ(changed.exit_code, 0) << changed.stderr_data;
  ASSERT_TRUE(before->commit_image(name_).ok());
  options_ = of_engine();
  options_.image = name_;
}

void PythonOnEachEngine::SetUp() {
  OnEachEngine::SetUp();
  if (IsSkipped() || !is_linux()) return;
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
}

namespace {

ExecuteResult executed(PythonSession& session, std::string_view code) {
  ExecuteResult result = session.execute(code);
  EXPECT_EQ(result.status, ExecuteStatus::ok)
      << code << "\n"
      << result.reason << (result.error ? result.error->traceback : "");
  return result;
}

}  // namespace

std::string PythonOnEachEngine::printed(PythonSession& session, std::string_view code) {
  return executed(session, code).stdout_data;
}

std::string PythonOnEachEngine::value_of(PythonSession& session, std::string_view code) {
  return executed(session, code).result_repr.value_or("");
}

Callback PythonOnEachEngine::echo(std::string name) {
  Callback callback;
  callback.name = std::move(name);
  callback.handler = [](CallbackCall& call) { return call.arguments(); };
  return callback;
}

}  // namespace cloche::testing
