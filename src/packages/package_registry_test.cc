// SPDX-License-Identifier: Apache-2.0
#include "packages/package_registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/host_error.h"
#include "vfs/types.h"

namespace cloche::packages {
namespace {

// A bundle of two packages of one file each: beta requires alpha.
std::string bundle_bytes() {
  std::string json =
      R"({"id":"1","packages":[{"name":"alpha","version":"1.0","requires":[],"extras":{"more":["beta-kit"]},"provides":["alpha"],"first":0,"count":1},)"
      R"({"name":"beta-kit","version":"2.0","requires":["alpha"],"provides":["beta"],"first":1,"count":1}]})";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::string names = "alpha.pybeta.py";
  const std::string data = "A = 1;          B = 2;          ";
  const std::uint64_t data_at = 40 + json.size() + std::size_t{2} * 24 + names.size();
  std::string bytes = "CLPYBND1";
  const auto add = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const std::uint64_t word :
       {std::uint64_t{json.size()}, std::uint64_t{2}, std::uint64_t{names.size()}, data_at})
    add(word);
  bytes += json;
  for (std::uint32_t i = 0; i < 2; ++i) {
    add(std::uint32_t{i == 0 ? 0U : 8U});
    add(std::uint32_t{i == 0 ? 8U : 7U});
    add(data_at + 16 * std::uint64_t{i});
    add(std::uint64_t{6});
  }
  return bytes + names + data;
}

class PackageRegistryTest : public ::testing::Test {
 protected:
  PackageRegistryTest() { write(bundle_bytes()); }
  ~PackageRegistryTest() override { (void)std::remove(path_.c_str()); }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string path_ = ::testing::TempDir() + "bundle-" + std::to_string(getpid());
};

TEST_F(PackageRegistryTest, ExtrasBringWhatTheyRequire) {
  const PackageRegistry registry(path_);
  const auto count = [&](const std::string& wish) {
    const auto packages = registry.resolve(std::vector<std::string>{wish});
    return packages ? packages->size() : 0;
  };
  EXPECT_EQ(count("alpha"), 1U);
  EXPECT_EQ(count("alpha[ More ]"), 2U);
  EXPECT_EQ(count("alpha[none,more,]>=1"), 2U);
  EXPECT_EQ(count("alpha[]"), 1U);
  EXPECT_EQ(count("alpha[more"), 0U);
}

TEST_F(PackageRegistryTest, ResolvesDependenciesFirst) {
  const PackageRegistry registry(path_);
  const std::vector<std::string> wishes{"Beta_Kit==2.0"};
  const auto packages = registry.resolve(wishes);
  ASSERT_TRUE(packages) << packages.error().sentence();
  ASSERT_EQ(packages->size(), 2U);
  EXPECT_EQ((*packages)[0]->name, "alpha");
  EXPECT_EQ((*packages)[1]->name, "beta-kit");
}

TEST_F(PackageRegistryTest, FindsByImportName) {
  const PackageRegistry registry(path_);
  ASSERT_NE(registry.find("beta"), nullptr);
  EXPECT_EQ(registry.find("beta")->name, "beta-kit");
  EXPECT_EQ(registry.find("gamma"), nullptr);
}

TEST_F(PackageRegistryTest, SaysWhatThereIs) {
  const PackageRegistry registry(path_);
  for (const std::vector<std::string>& wishes :
       {std::vector<std::string>{"gamma"}, {"alpha==9"}, {"../alpha"}}) {
    EXPECT_NE(registry.resolve(wishes).error().sentence(), "");
  }
  const Error why = registry.resolve(std::vector<std::string>{"gamma"}).error();
  EXPECT_EQ(why.code(), Errno::noent);
  EXPECT_EQ(why.sentence(), "Package not found. Available: alpha, beta-kit (asked for: gamma)");
}

TEST_F(PackageRegistryTest, InstallsOnceAndUninstalls) {
  PackageRegistry registry(path_);
  vfs::BaseBuilder builder;
  registry.add_library(builder);
  const auto files = vfs::make_fs<vfs::MemFs>(builder.freeze(), vfs::Quota{}, vfs::host_clock());
  const BundledPackage* alpha = registry.find("alpha");
  const std::vector<const BundledPackage*> packages{alpha};
  EXPECT_FALSE(registry.is_installed(*files, *alpha));
  ASSERT_TRUE(registry.install(*files, packages));
  ASSERT_TRUE(registry.install(*files, packages));
  EXPECT_TRUE(registry.is_installed(*files, *alpha));
  ASSERT_TRUE(registry.uninstall(*files, *alpha));
  EXPECT_FALSE(registry.is_installed(*files, *alpha));
  EXPECT_EQ(registry.uninstall(*files, *alpha).error(), Errno::noent);
}

TEST_F(PackageRegistryTest, ADamagedBundleIsOneSentence) {
  const std::string whole = bundle_bytes();
  for (const std::string& bytes : {std::string(), std::string("CLPYBND1"), whole.substr(0, 60),
                                   whole.substr(0, whole.size() - 40)}) {
    write(bytes);
    EXPECT_THROW(PackageRegistry{path_}, HostError) << bytes.size();
  }
  for (std::size_t i = 8; i < whole.size(); ++i) {  // no byte of it can make the reader go astray
    std::string bytes = whole;
    bytes[i] = '\xff';
    write(bytes);
    try {
      const PackageRegistry registry(path_);
      vfs::BaseBuilder builder;
      registry.add_library(builder);
    } catch (const HostError&) {
      continue;
    }
  }
}

TEST_F(PackageRegistryTest, ComparesVersions) {
  const PackageRegistry registry(path_);
  const auto has = [&](const std::string& condition) {  // beta-kit is 2.0
    return registry.resolve(std::vector<std::string>{"beta-kit" + condition}).ok();
  };
  for (const char* yes :
       {"", "==2", "==2.0.0", "==2.*", ">=1.9,<2.1", "~=2.0", "!=1", ">1.99", "<=2.0", "===2.0"})
    EXPECT_TRUE(has(yes)) << yes;
  for (const char* no :
       {"==2.0.1", "==1.*", "!=2.0", "!=2.*", ">2", "<2", "~=1.9", ">=2.0.1", "===2"})
    EXPECT_FALSE(has(no)) << no;
}

TEST_F(PackageRegistryTest, AStarIsAfterEqualAndUnequalAlone) {
  const PackageRegistry registry(path_);
  for (const char* text :
       {">=1.*", "<=3.*", ">1.*", "<3.*", "~=2.*", "==2.*.0", "==*", "!=1.*.*"}) {
    const auto found = registry.resolve(std::vector<std::string>{std::string("beta-kit") + text});
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code(), Errno::inval) << text;
    EXPECT_NE(found.error().sentence().find(".* is the end of a version"), std::string::npos);
  }
}

TEST(Wish, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_wish("Scikit_Learn")->name, "scikit-learn");
  EXPECT_EQ(parse_wish(" pandas == 3.0.6 ")->conditions.at(0).version, "3.0.6");
  EXPECT_EQ(parse_wish("a[b] >=1, <2 ; os_name == 'posix'")->conditions.at(1).relation, "<");
  EXPECT_EQ(parse_wish("requests[socks]")->name, "requests");
  for (const char* text : {"", "==", "a b", "a/b", "a==", "a[b", "a=1", "a=>1", "a>=1 2"})
    EXPECT_FALSE(parse_wish(text)) << text;
}

}  // namespace
}  // namespace cloche::packages
