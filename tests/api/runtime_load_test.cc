#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tailor_load_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/sample.tlr";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  void WriteFile(std::span<const std::byte> bytes) {
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string Load(const tailor_load_options* options = nullptr) {
    tailor_executable* executable = nullptr;
    std::string text = Text(tailor_executable_load(nullptr, path_.data(), path_.size(), options, &executable));
    if (executable != nullptr) {
      executable_.reset(executable);
      EXPECT_EQ(text, "OK");
    }
    return text;
  }
  void ExpectRuns() {
    SampleCall call(21);
    EXPECT_EQ(Text(tailor_executable_run(executable_.get(), call.inputs.data(), 2, call.outputs.data(), 2)), "OK");
    call.ExpectResults();
  }
  tailor_load_options Options() {
    tailor_load_options options;
    tailor_load_options_init(&options);
    return options;
  }

  std::string directory_, path_;
  ExecutableHandle executable_;
};

TEST_F(LoadTest, FromAFile) {
  WriteFile(SampleArtifact().span());
  for (int32_t copy : {0, 1}) {
    for (int32_t verify : {0, 1}) {
      tailor_load_options options = Options();
      options.copy_constants = copy;
      options.verify_constants = verify;
      ASSERT_EQ(Load(&options), "OK");
      ExpectRuns();
    }
  }
}

TEST_F(LoadTest, WithTheCostsOfThisMachine) {
  WriteFile(SampleArtifact().span());
  tailor_load_options options = Options();
  const std::string profile = "tile 6x4 1 2 3\n", wrong = "tile 6x4";
  options.cost_profile = profile.data();
  options.cost_profile_size = profile.size();
  ASSERT_EQ(Load(&options), "OK");
  ExpectRuns();
  options.cost_profile_size = SIZE_MAX;
  ASSERT_EQ(Load(&options), "OK");
  options.cost_profile = wrong.data();
  options.cost_profile_size = wrong.size();
  EXPECT_THAT(Load(&options), testing::HasSubstr("cost profile: line 1: a tile has three costs"));
}

TEST_F(LoadTest, ConstantsAreMappedUnlessTheyAreToBeCopied) {
  WriteFile(SampleArtifact().span());
  const auto mappings = [this] {
    std::ifstream maps("/proc/self/maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    const size_t at = text.find(path_);
    return at == std::string::npos ? "none" : text.substr(text.rfind('\n', at) + 1, at).substr(26, 4);
  };
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(mappings(), "r--p");
  executable_.reset();
  EXPECT_EQ(mappings(), "none");
  tailor_load_options options = Options();
  options.copy_constants = 1;
  ASSERT_EQ(Load(&options), "OK");
  EXPECT_EQ(mappings(), "none");
}

// `cp new.tlr model.tlr` writes to the file that is mapped.
TEST_F(LoadTest, AFileThatIsWrittenToAfterLoadingGivesNoSession) {
  const auto session = [&] {
    tailor_session* created = nullptr;
    const std::string text = Text(tailor_session_create(executable_.get(), nullptr, &created));
    tailor_session_release(created);
    return text;
  };
  WriteFile(SampleArtifact().span());
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(session(), "OK");
  const timespec times[2] = {{0, UTIME_OMIT}, {1000, 7}};
  WriteFile(SampleArtifact().span());
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);  // clocks of file systems are coarse
  EXPECT_THAT(session(), testing::AllOf(testing::StartsWith("9: "), testing::HasSubstr(path_),
                                        testing::HasSubstr("was written to")));
  tailor_load_options options = Options();
  options.copy_constants = 1;
  ASSERT_EQ(Load(&options), "OK");
  WriteFile(SampleArtifact().span());
  EXPECT_EQ(session(), "OK");
}

TEST_F(LoadTest, AFileMayBeReplacedByRenamingOrUnlinked) {
  WriteFile(SampleArtifact().span());
  ASSERT_EQ(Load(), "OK");
  const std::string other = path_ + ".new";
  std::filesystem::copy_file(path_, other);
  std::filesystem::rename(other, path_);
  tailor_session* session = nullptr;
  EXPECT_EQ(Text(tailor_session_create(executable_.get(), nullptr, &session)), "OK");
  tailor_session_release(session);
  unlink(path_.c_str());
  ExpectRuns();
}

TEST_F(LoadTest, ErrorsNameThePath) {
  EXPECT_EQ(Load(), "5: cannot open " + path_ + ": No such file or directory");
  WriteFile(SampleArtifact().span().first(1000));
  EXPECT_EQ(Load(), "15: " + path_ + ": damaged artifact: truncated: it has 1000 bytes, its header says 65600");
  const std::string text = "PK not an artifact";
  WriteFile(std::as_bytes(std::span(text)));
  EXPECT_EQ(Load(), "3: " + path_ + ": not a Tailor artifact: it does not begin with the magic bytes");
  path_ = "";
  EXPECT_EQ(Load(), "3: the path is empty");
  path_ = std::string("a\0b", 3);
  EXPECT_EQ(Load(), "3: the path holds a zero byte");
}

TEST_F(LoadTest, FilesAreDescribedWithoutLoading) {
  std::string json;
  const auto describe = [&] {
    return Text(tailor_artifact_describe(
        path_.data(), path_.size(),
        [](void* user, const char* text, size_t size) { static_cast<std::string*>(user)->assign(text, size); }, &json));
  };
  EXPECT_EQ(describe(), "5: cannot open " + path_ + ": No such file or directory");
  Program program = SampleProgram();
  program.variants[0].features = {"warp-drive"};
  const AlignedBytes bytes = ArtifactOf(program);
  WriteFile(bytes.span().first(1000));
  EXPECT_EQ(describe().substr(0, 3), "15:");
  EXPECT_EQ(json, "");
  WriteFile(bytes.span());
  EXPECT_EQ(describe(), "OK");
  EXPECT_THAT(json, testing::HasSubstr(R"("target": "x86-64", "in_use": false, "features": ["warp-drive"])"));
  EXPECT_EQ(Text(tailor_artifact_describe(path_.data(), path_.size(), nullptr, nullptr)),
            "3: tailor_artifact_describe: take is null");
  EXPECT_EQ(Text(tailor_artifact_describe(nullptr, 0, nullptr, nullptr)), "3: tailor_artifact_describe: path is null");
}

TEST_F(LoadTest, APathMayEndAtItsTerminator) {
  WriteFile(SampleArtifact().span());
  tailor_executable* executable = nullptr;
  EXPECT_EQ(Text(tailor_executable_load(nullptr, path_.c_str(), SIZE_MAX, nullptr, &executable)), "OK");
  executable_.reset(executable);
}

TEST_F(LoadTest, AFlippedConstantIsFoundWhenAskedFor) {
  AlignedBytes bytes = SampleArtifact();
  bytes.data()[65537] ^= std::byte{1};
  WriteFile(bytes.span());
  EXPECT_EQ(Load(), "OK");
  tailor_load_options options = Options();
  options.verify_constants = 1;
  EXPECT_EQ(Load(&options), "15: " + path_ + ": damaged artifact: constant \"scale\" does not match its hash");
}

TEST_F(LoadTest, AVariantCanBeForced) {
  Program program = SampleProgram();
  program.variants.push_back(program.variants[0]);
  program.variants[1].target = "plain";
  program.variants.push_back(program.variants[0]);
  program.variants[2].target = "future";
  program.variants[2].features = {"warp-drive", "chrome"};
  WriteFile(ArtifactOf(program).span());
  tailor_load_options options = Options();
  options.target = "plain";
  ASSERT_EQ(Load(&options), "OK");
  const char* json = nullptr;
  ASSERT_EQ(Text(tailor_executable_describe(executable_.get(), &json)), "OK");
  EXPECT_THAT(json, testing::HasSubstr(R"("target": "plain", "in_use": true)"));
  EXPECT_THAT(json, testing::HasSubstr(R"("target": "x86-64", "in_use": false)"));
  options.target = "none";
  EXPECT_EQ(Load(&options), "5: " + path_ + ": the artifact has no variant \"none\"; it has x86-64, plain, future");
  options.target = "future";
  EXPECT_EQ(Load(&options), "9: " + path_ +
                                ": this machine cannot run the artifact: future needs warp-drive: this runtime does "
                                "not know the feature, chrome: this runtime does not know the feature");
}

TEST_F(LoadTest, SignaturesAreRequiredWithAKey) {
  uint8_t public_key[32], secret_key[64];
  crypto_sign_keypair(public_key, secret_key);
  tailor_load_options options = Options();
  options.public_key = public_key;
  WriteFile(ArtifactOf(SampleProgram(), secret_key).span());
  EXPECT_EQ(Load(&options), "OK");
  WriteFile(SampleArtifact().span());
  EXPECT_EQ(Load(&options), "9: " + path_ + ": the artifact is not signed, and a signature is required");
  public_key[3] ^= 1;
  WriteFile(ArtifactOf(SampleProgram(), secret_key).span());
  EXPECT_EQ(Load(&options), "9: " + path_ + ": the artifact is not signed with the required key");
}

TEST_F(LoadTest, SavedBytesAreThoseLoaded) {
  const AlignedBytes bytes = SampleArtifact();
  executable_ = LoadBytes(bytes.span());
  ASSERT_EQ(Text(tailor_executable_save(executable_.get(), path_.data(), path_.size())), "OK");
  std::ifstream file(path_, std::ios::binary);
  const std::string saved(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(saved, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  ASSERT_EQ(Load(), "OK");
  ExpectRuns();
  const std::string nowhere = directory_ + "/missing/a.tlr";
  EXPECT_EQ(Text(tailor_executable_save(executable_.get(), nowhere.c_str(), SIZE_MAX)),
            "9: cannot write " + nowhere + ": No such file or directory");
}

TEST_F(LoadTest, SavesToMemoryOfTheHost) {
  const AlignedBytes bytes = SampleArtifact();
  WriteFile(bytes.span());
  ASSERT_EQ(Load(), "OK");
  size_t size = 0;
  ASSERT_EQ(Text(tailor_executable_save_memory(executable_.get(), nullptr, 0, &size)), "OK");
  ASSERT_EQ(size, bytes.size());
  std::vector<std::byte> saved(size + 1, std::byte{7});
  size = 5;
  EXPECT_EQ(Text(tailor_executable_save_memory(executable_.get(), saved.data(), bytes.size() - 1, &size)),
            "3: the artifact has " + std::to_string(bytes.size()) + " bytes, but there is room for " +
                std::to_string(bytes.size() - 1));
  EXPECT_EQ(size, 5u);
  EXPECT_EQ(saved, std::vector<std::byte>(saved.size(), std::byte{7}));
  ASSERT_EQ(Text(tailor_executable_save_memory(executable_.get(), saved.data(), saved.size(), &size)), "OK");
  EXPECT_EQ(size, bytes.size());
  EXPECT_EQ(std::memcmp(saved.data(), bytes.data(), size), 0);
  EXPECT_EQ(saved.back(), std::byte{7});
}

TEST_F(LoadTest, AFileThatIsWrittenToAfterLoadingIsNotSaved) {
  WriteFile(SampleArtifact().span());
  ASSERT_EQ(Load(), "OK");
  const timespec times[2] = {{0, UTIME_OMIT}, {1000, 7}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  const auto refused = testing::AllOf(testing::StartsWith("9: "), testing::HasSubstr("was written to"));
  std::vector<std::byte> saved(SampleArtifact().size());
  size_t size = 0;
  EXPECT_THAT(Text(tailor_executable_save_memory(executable_.get(), saved.data(), saved.size(), &size)), refused);
  const std::string other = directory_ + "/other.tlr";
  EXPECT_THAT(Text(tailor_executable_save(executable_.get(), other.c_str(), SIZE_MAX)), refused);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(LoadTest, MessagesNameTheFile) {
  WriteFile(SampleArtifact().span());
  std::string log;
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.user = &log;
  options.log = [](void* user, int32_t, const char* message) {
    *static_cast<std::string*>(user) += message + std::string("\n");
  };
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  tailor_executable* executable = nullptr;
  ASSERT_EQ(Text(tailor_executable_load(runtime, path_.data(), path_.size(), nullptr, &executable)), "OK");
  executable_.reset(executable);
  tailor_runtime_release(runtime);
  EXPECT_EQ(log, path_ + ": variant x86-64 is used\n");
}

TEST_F(LoadTest, BorrowedBytesAreGivenBackOnceTheExecutableIsGone) {
  const AlignedBytes bytes = SampleArtifact();
  int released = 0;
  const auto count = [](void* user) { ++*static_cast<int*>(user); };
  tailor_executable* executable = nullptr;
  ASSERT_EQ(
      Text(tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), nullptr, count, &released, &executable)),
      "OK");
  tailor_executable_retain(executable);
  tailor_executable_release(executable);
  SessionHandle session = MakeSession(executable);
  tailor_executable_release(executable);
  SampleCall call(3);
  EXPECT_EQ(call.Run(session.get()), "OK");
  call.ExpectResults();
  EXPECT_EQ(released, 0);
  session.reset();
  EXPECT_EQ(released, 1);
}

TEST_F(LoadTest, BorrowedBytesAreGivenBackWhenLoadingFails) {
  const AlignedBytes bytes = SampleArtifact();
  int released = 0;
  const auto count = [](void* user) { ++*static_cast<int*>(user); };
  tailor_executable* executable = nullptr;
  EXPECT_EQ(tailor_status_code(StatusHandle(tailor_executable_load_memory(nullptr, bytes.data(), 100, nullptr, count,
                                                                          &released, &executable))
                                   .get()),
            TAILOR_DATA_LOSS);
  EXPECT_EQ(released, 1);
  tailor_load_options wrong = {};
  EXPECT_NE(
      Text(tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), &wrong, count, &released, &executable)),
      "OK");
  EXPECT_EQ(released, 2);
  EXPECT_EQ(executable, nullptr);
}

TEST_F(LoadTest, BytesMayGoWhenNobodyIsToBeTold) {
  AlignedBytes bytes = SampleArtifact();
  executable_ = LoadBytes(bytes.span());
  std::memset(bytes.data(), 0xff, bytes.size());
  ExpectRuns();
}

TEST_F(LoadTest, BytesMayLieAnywhere) {
  const AlignedBytes bytes = SampleArtifact();
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  tailor_executable* executable = nullptr;
  ASSERT_EQ(Text(tailor_executable_load_memory(
                nullptr, shifted.data() + 1, bytes.size(), nullptr, [](void*) {}, nullptr, &executable)),
            "OK");
  executable_.reset(executable);
  ExpectRuns();
}

}  // namespace
}  // namespace tailor
