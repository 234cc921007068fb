#include "codegen/jobs/job_pool.h"

#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tailor {
namespace {

absl::Status Quiet(double) { return absl::OkStatus(); }

TEST(RunJobs, RunsEachOnce) {
  for (int threads : {1, 3, 50}) {
    std::vector<std::atomic<int>> runs(20);
    const auto job = [&](int i) {
      ++runs[i];
      return absl::OkStatus();
    };
    EXPECT_TRUE(RunJobs(threads, 20, job, Quiet).ok());
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(RunJobs, NothingToDoIsFine) {
  EXPECT_TRUE(RunJobs(
                  4, 0, [](int) { return absl::InternalError("ran"); }, Quiet)
                  .ok());
}

TEST(RunJobs, LowestFailureWinsAndStopsTheRest) {
  std::atomic<int> ran{0};
  const auto job = [&](int i) {
    ++ran;
    return i >= 2 ? absl::InternalError(std::to_string(i)) : absl::OkStatus();
  };
  EXPECT_EQ(RunJobs(1, 100, job, Quiet).message(), "2");
  EXPECT_EQ(ran, 3);
}

TEST(RunJobs, ReportsOnTheCallersThreadAndCanStop) {
  const auto caller = std::this_thread::get_id();
  std::vector<double> shares;
  const auto report = [&](double done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    shares.push_back(done);
    return shares.size() == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  };
  EXPECT_EQ(RunJobs(
                1, 4, [](int) { return absl::OkStatus(); }, report)
                .code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5}));
}

TEST(RunJobs, JobsHaveADeepStack) {
  const auto job = [](int) {
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstacksize(&attributes, &bytes);
      pthread_attr_destroy(&attributes);
    }
    return bytes >= kJobStackBytes ? absl::OkStatus() : absl::InternalError(std::to_string(bytes));
  };
  EXPECT_EQ(RunJobs(3, 3, job, Quiet), absl::OkStatus());
}

TEST(RunJobs, WhatAJobThrowsOnAnyThreadIsThrownOnTheCallers) {
  for (int threads : {1, 4}) {
    std::atomic<int> started{0};
    const auto job = [&](int i) {
      // All threads are in a job when the first one throws.
      for (++started; started < threads;) std::this_thread::yield();
      if (i < threads) throw std::bad_alloc();
      return absl::OkStatus();
    };
    EXPECT_THROW((void)RunJobs(threads, 100, job, Quiet), std::bad_alloc);
    EXPECT_LT(started, 100);
  }
}

TEST(RunJobs, WhatTheReportThrowsEndsTheThreads) {
  std::atomic<bool> reported{false};
  const auto job = [&](int i) {
    while (i > 0 && !reported) std::this_thread::yield();
    return absl::OkStatus();
  };
  const auto report = [&](double) -> absl::Status {
    reported = true;
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)RunJobs(4, 100, job, report), std::bad_alloc);
}

}  // namespace
}  // namespace tailor
