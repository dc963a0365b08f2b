#include "server/libraries/layer_admin.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "policy/libraries/library_policy.h"
#include "server/daemon/library_setup.h"
#include "server/libraries/unpack_helper.h"
#include "server/pool/jail_pool.h"
#include "tests/unit/server/layers/layer_support.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Python with libraries: any in the profile "default", "six" alone in "few",
// none that isn't there in "offline".
PolicySet LibraryPolicies() {
  policy::Language python{.id = "python",
                          .name = "Python",
                          .aliases = {"py"},
                          .extensions = {".py"},
                          .source_file = "main.py",
                          .run = {"/bin/sh", "${source}"},
                          .version = {"/bin/sh", "--version"},
                          .package = "python3"};
  python.libraries.emplace();
  python.libraries->script = "install";
  policy::Profile standard{.name = "default", .description = "for tests"};
  policy::LibraryPolicy any{.profile = "default"};
  any.rules[policy::Ecosystem::kPython] = {};
  standard.libraries = std::make_shared<const policy::LibraryPolicy>(any);
  policy::Profile offline{.name = "offline", .description = "for tests"};
  any.profile = "offline";
  any.rules[policy::Ecosystem::kPython].offline = true;
  offline.libraries = std::make_shared<const policy::LibraryPolicy>(any);
  policy::Profile none{.name = "none", .description = "for tests"};
  auto languages = policy::LanguageTable::Create({python});
  EXPECT_TRUE(languages.ok()) << languages.status();
  auto set =
      PolicySet::Create(*std::move(languages), {standard, offline, none});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

std::string ReasonOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const auto payload =
      status.GetPayload("type.googleapis.com/google.rpc.ErrorInfo");
  if (!payload || !info.ParseFromString(std::string(*payload))) return "";
  return info.reason();
}

// No install here gets as far as an archive.
class NoUnpacker final : public ArchiveUnpacker {
 public:
  absl::StatusOr<sandbox::FileResult> Unpack(const os::Fd&, const os::Fd&,
                                             const UnpackLimits&,
                                             CancelToken&) const override {
    ADD_FAILURE() << "there is no archive";
    return absl::UnimplementedError("nothing is unpacked here");
  }
};

class LayerAdminTest : public LayerStoreTest {
 protected:
  LayerAdminTest() : pool_({{.floor = 0}}, nullptr, nullptr) {
    LibraryInstaller installer;
    installer.registry = "http://127.0.0.1:1/simple";
    LibrariesParts parts;
    parts.store = std::move(store_);
    parts.installers.usable.emplace(
        InstallerKey{"", policy::Ecosystem::kPython}, installer);
    parts.max_bytes = 1000;
    parts.runner = &installer_;
    parts.unpacker = &unpacker_;
    parts.policy = &policy_;
    libraries_.emplace(std::move(parts));
    admin_.emplace(LayerAdminParts{&policy_, &pool_, &*libraries_});
  }

  // A layer that is there, by one set or more.
  std::string Have(const std::string& libraries) {
    LayerStore& store = libraries_->store();
    auto staging = store.Begin();
    EXPECT_TRUE(staging.ok()) << staging.status();
    testing::WriteFile(staging->path() + "/six.py", libraries);
    auto pin = store.Commit(Key(libraries), *std::move(staging));
    EXPECT_TRUE(pin.ok()) << pin.status();
    return pin->id();
  }
  absl::StatusOr<v1::LayerBuilt> Build(const Identity& caller,
                                       const v1::BuildLayerRequest& request) {
    return admin_->Build(
        caller, request,
        [this](std::string_view line) { lines_.emplace_back(line); }, cancel_);
  }
  static v1::BuildLayerRequest Wanting(const std::string& library,
                                       const std::string& profile = "") {
    v1::BuildLayerRequest request;
    request.set_language("py");
    request.set_profile(profile);
    request.add_libraries(library);
    return request;
  }
  absl::StatusOr<v1::RemoveLayerResponse> Remove(const Identity& caller,
                                                 const std::string& id) {
    v1::RemoveLayerRequest request;
    request.set_layer_id(id);
    return admin_->Remove(caller, request);
  }

  const Identity somebody_ = User(1000);
  const Identity approver_ = Approver(1001);
  LivePolicy policy_{LibraryPolicies()};
  JailPool pool_;
  int installs_ = 0;
  std::function<void()> meanwhile_ = [] {};
  // What an installer's jail would say; it leaves no archive.
  const NoUnpacker unpacker_;
  ScriptedRunner installer_{
      [this](const Job& job, CancelToken&, RunListener* listener) {
        ++installs_;
        meanwhile_();
        listener->OnStarted(job);
        listener->OnOutput(Stream::kStdout, "Collecting six\n", 0,
                           absl::ZeroDuration());
        listener->OnOutput(Stream::kStderr, "ERROR: No matching distribution\n",
                           0, absl::ZeroDuration());
        JobResult result = OkResult(job, "");
        result.facts.wait_status = 1 << 8;
        result.verdict = policy::Decide(result.facts, job.limits);
        return result;
      }};
  std::optional<Libraries> libraries_;
  std::optional<LayerAdmin> admin_;
  CancelToken cancel_;
  std::vector<std::string> lines_;
};

TEST_F(LayerAdminTest, ListsWhatThereIsTheLastUsedFirst) {
  const std::string old = Have("attrs==1\nsix==1.16.0");
  const std::string young = Have("numpy");
  const auto all = admin_->List(approver_, {});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_THAT(all->layers(), SizeIs(2));
  EXPECT_EQ(all->layers(0).layer_id(), young);
  EXPECT_EQ(all->layers(1).layer_id(), old);
  EXPECT_EQ(all->layers(1).language(), "python");
  EXPECT_THAT(all->layers(1).sets(), ElementsAre("attrs==1 six==1.16.0"));
  EXPECT_EQ(all->layers(1).files(), 1u);
  EXPECT_FALSE(all->layers(1).in_use());
  EXPECT_EQ(all->bytes(), all->layers(0).bytes() + all->layers(1).bytes());
  EXPECT_EQ(all->max_bytes(), 1000u);
}

// What others have installed is theirs to know.
TEST_F(LayerAdminTest, TellsACallerNothingOfWhatOthersHaveHad) {
  Have("six");
  Have("numpy");
  const auto listed = admin_->List(User(2002), {});
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(listed->layers(), IsEmpty());
  EXPECT_EQ(listed->bytes(), 0u);
  EXPECT_THAT(admin_->List(approver_, {})->layers(), SizeIs(2));
}

TEST_F(LayerAdminTest, ListsThoseOfOneLanguage) {
  Have("six");
  v1::ListLayersRequest request;
  request.set_language("py");
  EXPECT_THAT(admin_->List(approver_, request)->layers(), SizeIs(1));
  request.set_language("cobol");
  EXPECT_EQ(admin_->List(approver_, request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LayerAdminTest, BuildsTellTheInstallersWords) {
  const auto built = Build(somebody_, Wanting("six"));
  EXPECT_EQ(ReasonOf(built.status()), "LIBRARIES_NOT_INSTALLED");
  EXPECT_THAT(std::string(built.status().message()),
              HasSubstr("No matching distribution"));
  // What went wrong is the error's.
  EXPECT_THAT(lines_, ElementsAre("Collecting six"));
}

TEST_F(LayerAdminTest, BuildsNothingThatAProfileForbids) {
  EXPECT_EQ(ReasonOf(Build(somebody_, Wanting("six", "none")).status()),
            "LIBRARIES_DENIED");
  const absl::Status wrong =
      Build(somebody_, Wanting("--index-url=x")).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  v1::BuildLayerRequest nothing;
  nothing.set_language("py");
  EXPECT_EQ(Build(somebody_, nothing).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(installs_, 0);
}

TEST_F(LayerAdminTest, InstallsForAnOfflineProfileAreTheOperators) {
  EXPECT_EQ(ReasonOf(Build(somebody_, Wanting("six", "offline")).status()),
            "LIBRARIES_UNAVAILABLE");
  EXPECT_EQ(installs_, 0);
  EXPECT_EQ(ReasonOf(Build(approver_, Wanting("six", "offline")).status()),
            "LIBRARIES_NOT_INSTALLED");
  EXPECT_EQ(installs_, 1);
}

TEST_F(LayerAdminTest, ATenantHasNoMoreInstallsThanItsCeiling) {
  PolicySet policy = LibraryPolicies();
  policy.SetTenants(policy::TenantTable(
      {{.name = kLocalTenant, .ceilings = {.installs = 1}}}));
  policy_.Set(std::make_shared<const PolicySet>(std::move(policy)));
  absl::Status second;
  meanwhile_ = [&] { second = Build(User(7), Wanting("numpy")).status(); };
  EXPECT_EQ(ReasonOf(Build(somebody_, Wanting("six")).status()),
            "LIBRARIES_NOT_INSTALLED");
  EXPECT_EQ(ReasonOf(second), "TENANT_CEILING");
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("tenant local has 1 of at most 1 (ceilings.installs"));
  meanwhile_ = [] {};
  EXPECT_EQ(ReasonOf(Build(User(7), Wanting("numpy")).status()),
            "LIBRARIES_NOT_INSTALLED");
}

TEST_F(LayerAdminTest, OperatorsRemoveByTheFirstDigits) {
  const std::string id = Have("six");
  EXPECT_EQ(ReasonOf(Remove(somebody_, id).status()), "NOT_AN_APPROVER");
  const auto removed = Remove(approver_, id.substr(0, 8));
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->layer().layer_id(), id);
  EXPECT_THAT(admin_->List(approver_, {})->layers(), IsEmpty());
  EXPECT_EQ(ReasonOf(Remove(approver_, id).status()), "LAYER_NOT_FOUND");
}

TEST_F(LayerAdminTest, InvalidIdsAreRefused) {
  Have("six");
  for (const std::string id :
       {"", "1234567", "../../../etc", "ABCDEF0123", "12345678x"}) {
    EXPECT_EQ(Remove(approver_, id).status().code(),
              absl::StatusCode::kInvalidArgument)
        << id;
  }
  EXPECT_EQ(Remove(approver_, std::string(65, 'a')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LayerAdminTest, LayersInUseStay) {
  Have("six");
  const std::optional<LayerStore::Pin> pin =
      libraries_->store().Find(Key("six"));
  ASSERT_TRUE(pin.has_value());
  EXPECT_EQ(ReasonOf(Remove(approver_, pin->id()).status()), "LAYER_IN_USE");
  EXPECT_TRUE(admin_->List(approver_, {})->layers(0).in_use());
}

TEST_F(LayerAdminTest, WithoutLibrariesAllSaySo) {
  const LayerAdmin none({&policy_, &pool_, nullptr, "because"});
  EXPECT_EQ(none.List(approver_, {}).status().message(), "because");
  EXPECT_EQ(ReasonOf(none.List(approver_, {}).status()),
            "LIBRARIES_UNAVAILABLE");
  EXPECT_EQ(ReasonOf(none.Remove(approver_, {}).status()),
            "LIBRARIES_UNAVAILABLE");
  EXPECT_EQ(
      ReasonOf(none.Build(somebody_, Wanting("six"), {}, cancel_).status()),
      "LIBRARIES_UNAVAILABLE");
}

// Callers are told what the log says.
TEST_F(LayerAdminTest, ADirectoryThatCannotBeUsedIsTheReason) {
  const testing::TempDir dir;
  testing::WriteFile(dir.Path("file"), "");
  std::string why;
  std::vector<sandbox::JailTemplate> templates;
  for (const auto& [place, words] :
       {std::pair<std::string, std::string>{"", "\"libraries.dir\""},
        {dir.Path("file/layers"), dir.Path("file")}}) {
    const auto parts = PrepareLibraries({.dir = place}, *policy_.Get(), {}, {},
                                        templates, why);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_FALSE(parts->has_value());
    EXPECT_THAT(why,
                ::testing::AllOf(HasSubstr("this daemon installs no libraries"),
                                 HasSubstr(words)));
  }
}

}  // namespace
}  // namespace sandglass::server
