#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_file.hpp"
#include "bench/dealer.hpp"
#include "bench/volume.hpp"
#include "check.hpp"
#include "sortcore/bench/disk_bench.hpp"
#include "sortcore/bench/latency.hpp"
#include "sortcore/bench/small_io.hpp"
#include "sortcore/bench/traffic.hpp"
#include "sortcore/bench/window.hpp"

using namespace sortcore;

TEST(latency_buckets_follow_each_other_and_are_3_percent_wide) {
  for (std::size_t bucket = 1; bucket < 1500; ++bucket) {
    const std::uint64_t upper = LatencyHistogram::upper_ns(bucket);
    CHECK_EQUAL(LatencyHistogram::bucket_of(upper), bucket);
    CHECK_EQUAL(LatencyHistogram::bucket_of(LatencyHistogram::upper_ns(bucket - 1) + 1), bucket);
    CHECK(static_cast<double>(upper - LatencyHistogram::upper_ns(bucket - 1)) <=
          1 + static_cast<double>(upper) / 32);
  }
  CHECK(LatencyHistogram::bucket_of(UINT64_MAX) < LatencyHistogram::buckets);
}

TEST(latency_quantiles_are_those_of_the_values_to_3_percent) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> values(20'001);
  LatencyHistogram halves[2];
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::uint64_t{1} << (random() % 30);
    values[i] += random() % values[i];
    halves[i % 2].add(values[i]);
  }
  halves[0].merge(halves[1]);
  CHECK_EQUAL(halves[0].operations(), values.size());
  std::sort(values.begin(), values.end());
  for (const double share : {0.5, 0.9, 0.99, 0.999}) {
    const double exact = static_cast<double>(values[static_cast<std::size_t>(share * 20'000)]);
    const double found = static_cast<double>(halves[0].quantile_ns(share));
    CHECK(found >= exact * 0.97 && found <= exact * 1.04);
  }
  CHECK_EQUAL(LatencyHistogram().quantile_ns(0.5), 0U);
}

TEST(a_meter_counts_what_is_within_the_window) {
  Window window(0.05, 0.1, 0.05);
  Meter meter(window);
  CHECK_EQUAL(window.intervals(), 2U);
  window.start();
  meter.add(1);
  while (window.now() < 0.01) std::this_thread::yield();
  meter.add(10);
  while (!window.is_over()) std::this_thread::yield();
  meter.add(100);
  CHECK_EQUAL(meter.bytes(), 10U);
  CHECK_EQUAL(meter.bytes_by_interval()[0] + meter.bytes_by_interval()[1], 10U);
}

TEST(every_record_dealt_arrives_once_and_partitions_get_equal_shares) {
  constexpr std::size_t partitions = 8, chunk_bytes = 1000, records = 80'000;
  std::vector<std::byte> block(records * Dealer::record_bytes);
  for (std::size_t i = 0; i < records; ++i) std::memcpy(&block[i * Dealer::record_bytes], &i, sizeof i);
  std::vector<std::unique_ptr<std::byte[]>> chunks;
  const auto take = [&] {
    // Not the number of any record: the dealer did not put the initial content of its first chunks there.
    chunks.push_back(std::make_unique<std::byte[]>(chunk_bytes));
    std::fill_n(chunks.back().get(), chunk_bytes, std::byte{0xff});
    return chunks.back().get();
  };
  std::map<std::size_t, std::size_t> arrived;
  std::vector<std::size_t> share(partitions);
  Dealer dealer(partitions, chunk_bytes, 1, take);
  dealer.deal(block.data(), block.size(), [&](std::size_t partition, const std::byte* full) {
    for (std::size_t at = 0; at < chunk_bytes; at += Dealer::record_bytes) {
      std::size_t number;
      std::memcpy(&number, full + at, sizeof number);
      if (number >= records) continue;
      ++arrived[number];
      ++share[partition];
    }
    return take();
  });
  for (const auto& [number, times] : arrived) CHECK_EQUAL(times, 1U);
  CHECK(arrived.size() + partitions * chunk_bytes / Dealer::record_bytes >= records);
  for (const std::size_t got : share) CHECK(got > records / partitions * 9 / 10);
}

// On a busy machine, under a sanitizer, a tenth of a second may pass without a transfer: such tests get a
// longer time.
constexpr double starved_s = 30;

THREADED_TEST(disk_bench_moves_bytes_the_ways_it_is_asked_to) {
  const std::string here = std::filesystem::temp_directory_path();
  for (const bool reads : {true, false}) {
    for (const bool writes : {true, false}) {
      if (!reads && !writes) continue;
      DiskBenchRequest request;
      if (reads) request.read_directories = {here};
      if (writes) request.write_directories = {here};
      request.seconds = 0.2;
      request.interval_s = 0.1;
      request.file_bytes = 8'192'000;
      request.queue_depth = 2;
      request.partitions = 2;
      auto volumes = bench_disk(request, nullptr);
      while (volumes.front().bytes == 0 && request.seconds < starved_s) {
        request.seconds *= 4;
        request.interval_s *= 4;
        volumes = bench_disk(request, nullptr);
      }
      CHECK_EQUAL(volumes.size(), std::size_t{reads} + std::size_t{writes});
      for (const VolumeReport& volume : volumes) CHECK_EQUAL(volume.bytes_by_interval.size(), 2U);
      CHECK(volumes.front().bytes > 0);
    }
  }
}

TEST(a_striped_volume_gives_back_block_by_block_what_it_was_filled_with) {
  const std::string here = std::filesystem::temp_directory_path();
  DiskBenchRequest request;
  request.file_bytes = 2'048'000;
  request.read_block_bytes = 1'024'000;
  request.stripe_bytes = 64 << 10;
  const Window window(0, 60, 60);
  Volume volume({here, here, here}, false, request, window);
  std::vector<std::byte> block(volume.block_bytes()), expected(volume.block_bytes());
  std::size_t filled = 0;
  while (volume.fill_next(block.data())) ++filled;
  CHECK_EQUAL(filled * volume.block_bytes(), volume.bytes());
  CHECK_EQUAL(filled, 6U);
  volume.finish_filling();
  for (std::size_t i = 0; i < filled; ++i) {
    volume.read_next(block.data());
    fill_with_records(expected.data(), expected.size(), i * expected.size());
    CHECK(block == expected);
  }
  std::vector<VolumeReport> members;
  volume.add_reports(members);
  CHECK_EQUAL(members.size(), 3U);
  std::uint64_t moved = 0;
  for (const VolumeReport& member : members) {
    moved += member.bytes;
    CHECK(member.bytes > volume.bytes() / 3 - request.stripe_bytes);
  }
  CHECK_EQUAL(moved, volume.bytes());
}

TEST(disk_bench_refuses_stripes_of_half_pages) {
  DiskBenchRequest request;
  request.read_directories = {".", "."};
  request.stripe_bytes = 1000;
  CHECK_THROWS(bad_input, bench_disk(request, nullptr));
}

TEST(disk_bench_refuses_blocks_that_are_not_whole) {
  DiskBenchRequest request;
  request.read_directories = {"."};
  request.read_block_bytes = 4096;
  CHECK_THROWS(bad_input, bench_disk(request, nullptr));
}

THREADED_TEST(traffic_that_is_sent_arrives) {
  int ends[2];
  CHECK_EQUAL(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  TrafficRequest request;
  request.send_sockets = {ends[0]};
  request.receive_sockets = {ends[1]};
  request.seconds = 0.2;
  request.warm_up_s = 0;
  request.cool_down_s = 0.1;
  request.interval_s = 0.1;
  const TrafficReport report = exchange_traffic(request, nullptr);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(!report.is_broken);
  CHECK(report.received_bytes.at(0) > 0);
  CHECK_EQUAL(report.received_by_interval.size(), 2U);
}

THREADED_TEST(small_transfers_are_counted_and_timed) {
  SmallIoFile file(std::filesystem::temp_directory_path(), 8'192'000, nullptr);
  for (const double flush_probability : {0.25, 1.0}) {
    const auto run_for = [&](double seconds) {
      return file.run({.io_bytes = 4096,
                       .writes = true,
                       .flush_probability = flush_probability,
                       .threads = 3,
                       .seconds = seconds,
                       .interval_s = seconds},
                      nullptr);
    };
    SmallIoReport report = run_for(0.1);
    for (double seconds = 0.4; report.latency.operations() == 0 && seconds < starved_s; seconds *= 4) {
      report = run_for(seconds);
    }
    CHECK(report.latency.operations() > 0);
    CHECK(report.bytes <= (report.latency.operations() + 3) * 4096);
  }
}
