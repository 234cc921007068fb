#!/bin/sh
# Runs a program of GoogleTest: one of SHARDS parts of its cases, another every day; all of them with TAILOR_TEST_ALL=1.
#   daily_shard.sh SHARDS PROGRAM [FLAGS]
set -eu
shards=$1
shift
if [ -z "${TAILOR_TEST_ALL:-}" ]; then
  GTEST_TOTAL_SHARDS=$shards
  GTEST_SHARD_INDEX=$(($(date +%s) / 86400 % shards))
  export GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX
fi
exec "$@"
