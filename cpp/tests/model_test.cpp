// Pass, cache and pool without Python, for the sanitizers: random histories of forests, forks, paths kept and dropped,
// each row held against plain decoding of its text.
#include <cstring>
#include <map>
#include <random>
#include <mutex>
#include <stdexcept>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "../model.h"
#include "check.h"

using namespace headstart;

namespace {

using Text = std::vector<int>;

Checks check;

struct Tensors {
  std::mt19937 random{7};
  std::unordered_map<std::string, std::vector<std::uint8_t>> bytes;
  RawTensors raw;

  void add(const std::string& name, int outputs, int inputs, Kind kind) {
    auto& data = bytes[name];
    if (kind == Kind::F32) {
      std::normal_distribution<float> normal(outputs == 1 ? 1.0f : 0.0f, outputs == 1 ? 0.1f : 0.15f);
      std::vector<float> values(static_cast<std::size_t>(outputs) * inputs);
      for (float& v : values) v = normal(random);
      data.resize(values.size() * sizeof(float));
      std::memcpy(data.data(), values.data(), data.size());
    } else {  // Q4_1: half-precision scale 0.0625 and minimum -0.5, 16 bytes of codes
      for (int block = 0; block < outputs * inputs / 32; ++block) {
        for (const int byte : {0x00, 0x2c, 0x00, 0xb8}) data.push_back(static_cast<std::uint8_t>(byte));
        for (int i = 0; i < 16; ++i) data.push_back(static_cast<std::uint8_t>(random()));
      }
    }
    raw[name] = {kind, outputs, inputs, data.data(), data.size(), false};
  }
};

Shape tiny_shape(int window) {
  return {40, 64, 96, 2, 6, 2, 16, 1e-5f, {1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003}, 1.0, false, {0, window}};
}

// Sizes that fill no vector, and more query heads to a kv head than fit one tile.
Shape odd_shape() { return {41, 18, 50, 2, 14, 1, 10, 1e-5f, {1.0, 0.3, 0.1}, 1.0, true, {5, 0}}; }

void fill(Tensors& t, const Shape& s, Kind kind) {
  t.add("embed", s.vocab_size, s.hidden_size, kind);
  t.add("final_norm", 1, s.hidden_size, Kind::F32);
  const int heads = s.head_count * s.head_size, kv = s.kv_head_count * s.head_size;
  for (int i = 0; i < s.layer_count; ++i) {
    const std::string p = std::to_string(i) + ".";
    for (const char* norm : {"attn_norm", "mlp_norm"}) t.add(p + norm, 1, s.hidden_size, Kind::F32);
    t.add(p + "q", heads, s.hidden_size, kind);
    t.add(p + "k", kv, s.hidden_size, kind);
    t.add(p + "v", kv, s.hidden_size, kind);
    t.add(p + "o", s.hidden_size, heads, kind);
    t.add(p + "gate", s.intermediate_size, s.hidden_size, kind);
    t.add(p + "up", s.intermediate_size, s.hidden_size, kind);
    t.add(p + "down", s.hidden_size, s.intermediate_size, kind);
    t.add(p + "k_norm", 1, s.head_size, Kind::F32);
    t.add(p + "q_bias", 1, heads, Kind::F32);
  }
}

struct Made {
  Tensors tensors;
  std::unique_ptr<Model> model;

  Made(Kind kind, const Options& options, int window) : Made(kind, options, tiny_shape(window)) {}
  Made(Kind kind, const Options& options, const Shape& shape) {
    fill(tensors, shape, kind);
    model = std::make_unique<Model>(shape, tensors.raw, options);
  }
};

struct Forest {
  std::vector<std::int32_t> sequences, tokens, parents;

  void add(int sequence, int token, int parent) {
    sequences.push_back(sequence);
    tokens.push_back(token);
    parents.push_back(parent);
  }
  std::shared_ptr<const Result> run(Model& model) const {
    const std::unique_ptr<bool[]> wanted(new bool[tokens.size() + 1]);
    std::fill_n(wanted.get(), tokens.size(), true);
    return model.forward({sequences.data(), tokens.data(), parents.data(), wanted.get(), static_cast<int>(tokens.size())},
                         {1});
  }
};

std::vector<float> row(const Result& result, int index) {
  const float* first = result.logits.data() + static_cast<std::size_t>(result.places[index]) * result.vocab_size;
  return {first, first + result.vocab_size};
}

// Logits by plain decoding, one row a pass.
class Plain {
 public:
  explicit Plain(Model& model) : model_(model) {}

  const std::vector<float>& after(const Text& text) {
    if (known_.count(text)) return known_[text];
    const int sequence = model_.open();
    for (std::size_t i = 0; i < text.size(); ++i) {
      Forest one;
      one.add(sequence, text[i], -1);
      known_[Text(text.begin(), text.begin() + i + 1)] = row(*one.run(model_), 0);
      model_.keep(sequence, {0});
    }
    model_.close(sequence);
    return known_[text];
  }

 private:
  Model& model_;
  std::map<Text, std::vector<float>> known_;
};

class History {
 public:
  History(Model& model, Plain& plain, unsigned seed, int most) : model_(model), plain_(plain), random_(seed), most_(most) {}

  void play(int rounds) {
    texts_[model_.open()] = {};
    for (int round = 0; round < rounds; ++round) {
      pass();
      fork();
      if (texts_.size() > 4) drop();
    }
    while (!texts_.empty()) drop();
    check(model_.cache_bytes() == 0, "closed sequences leave no pages");
  }

 private:
  int below(int n) { return static_cast<int>(random_() % n); }

  void pass() {
    Forest forest;
    std::vector<Text> paths;
    std::map<int, std::vector<int>> kept;
    for (const auto& [sequence, text] : texts_) {
      const int first = static_cast<int>(forest.tokens.size()), size = below(most_);
      for (int i = 0; i < size; ++i) {
        const bool chain = below(2) == 0;
        const int parent = i == 0 ? -1 : chain ? first + i - 1 : below(i + 1) == i ? -1 : first + below(i);
        paths.push_back(parent < 0 ? text : paths[parent]);
        paths.back().push_back(below(4));
        forest.add(sequence, paths.back().back(), parent);
      }
      if (size > 0) kept[sequence] = path(forest, first + below(size));
    }
    const auto result = forest.run(model_);
    for (std::size_t i = 0; i < paths.size(); ++i)
      check(row(*result, static_cast<int>(i)) == plain_.after(paths[i]), "a row has the bits of plain decoding");
    for (const auto& [sequence, rows] : kept) {
      if (plain_use_ ^= true) fork_and_drop(sequence);
      // Plain decoding ran passes of other sequences meanwhile; these rows are still pending.
      model_.keep(sequence, rows);
      texts_[sequence] = paths[rows.back()];
    }
  }

  static std::vector<int> path(const Forest& forest, int row) {
    std::vector<int> rows;
    for (; row >= 0; row = forest.parents[row]) rows.insert(rows.begin(), row);
    return rows;
  }

  void fork_and_drop(int sequence) { model_.close(model_.fork(sequence, -1)); }

  void fork() {
    auto it = texts_.begin();
    std::advance(it, below(static_cast<int>(texts_.size())));
    const int length = below(static_cast<int>(it->second.size()) + 1);
    texts_[model_.fork(it->first, length)] = Text(it->second.begin(), it->second.begin() + length);
  }

  void drop() {
    auto it = texts_.begin();
    std::advance(it, below(static_cast<int>(texts_.size())));
    model_.close(it->first);
    texts_.erase(it);
  }

  Model& model_;
  Plain& plain_;
  std::mt19937 random_;
  int most_;
  bool plain_use_ = false;
  std::map<int, Text> texts_;
};

void odd_histories() {
  for (const Isa isa : available_isas())
    for (const bool precise : {false, true}) {
      Made made(Kind::F32, {isa, 2, 600, precise}, odd_shape());
      Plain plain(*made.model);
      History(*made.model, plain, 5, 20).play(4);
    }
}

void histories() {
  for (const Isa isa : available_isas())
    for (const Kind kind : {Kind::F32, Kind::Q4_1})
      for (const int threads : {1, 2}) {
        Made made(kind, {isa, threads, 600, kind == Kind::F32}, 9);
        Plain plain(*made.model);
        for (unsigned seed = 0; seed < 2; ++seed) History(*made.model, plain, seed, seed == 1 ? 40 : 6).play(4);
      }
}

void every_instruction_set_agrees() {
  const Text text = {3, 1, 2, 0, 5, 7, 11, 4, 9, 8, 30, 31, 2, 2, 6, 13, 39, 20, 21};
  for (const Kind kind : {Kind::F32, Kind::Q4_1}) {
    std::vector<float> expected;
    for (const Isa isa : available_isas()) {
      Made made(kind, {isa, 2, 600, kind == Kind::F32}, 9);
      const std::vector<float> logits = Plain(*made.model).after(text);
      if (expected.empty()) expected = logits;
      check(logits == expected, std::string("the bits of the portable code on ") + name(isa));
    }
  }
}

template <class Call>
void refused(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return;
  }
  check(false, "a call that makes no sense is refused");
}

void edges() {
  Made made(Kind::Q4_1, {available_isas().back(), 2, 70, false}, 0);
  Model& model = *made.model;
  check(Forest{}.run(model)->rows == 0, "an empty pass is a pass");
  const int sequence = model.open();
  Forest full;
  for (int i = 0; i < 70; ++i) full.add(sequence, i % 40, i - 1);
  for (int i = 0; i < 5; ++i) full.add(sequence, i, 68);  // siblings of the last position need slots beyond it
  full.run(model);
  std::vector<int> rows(69);
  for (int i = 0; i < 69; ++i) rows[i] = i;
  rows.push_back(73);
  model.keep(sequence, rows);
  check(model.length(sequence) == 70, "the context is filled to the last slot");
  const auto one = [&](int s, int token, int parent) {
    Forest f;
    f.add(s, token, parent);
    return f;
  };
  refused([&] { one(sequence, 1, -1).run(model); });
  refused([&] { one(99, 1, -1).run(model); });
  const int fresh = model.open();
  refused([&] { one(fresh, 40, -1).run(model); });
  refused([&] { one(fresh, -1, -1).run(model); });
  refused([&] { one(fresh, 1, 0).run(model); });
  refused([&] { model.keep(fresh, {0}); });
  refused([&] { model.fork(fresh, 1); });
  refused([&] { model.close(1000); });
}

void thousands_of_forks() {
  Made made(Kind::F32, {Isa::portable, 1, 600, false}, 0);
  Model& model = *made.model;
  const int trunk = model.open();
  Forest start;
  for (int i = 0; i < 40; ++i) start.add(trunk, i, i - 1);
  start.run(model);
  std::vector<int> rows(40);
  for (int i = 0; i < 40; ++i) rows[i] = i;
  model.keep(trunk, rows);
  const std::size_t before = model.cache_bytes();
  for (int i = 0; i < 2000; ++i) {
    const int branch = model.fork(trunk, i % 41);
    Forest two;
    two.add(branch, 1, -1);
    two.add(branch, 2, 0);
    two.run(model);
    if (i % 3) model.keep(branch, {0});
    model.close(branch);
  }
  check(model.cache_bytes() == before, "thousands of forks and rollbacks leave the memory as it was");
}

void damaged() {
  Made made(Kind::F32, {available_isas().back(), 2, 600, false}, 0);
  auto raw = made.tensors.raw;
  raw["0.q"].outputs = 48;
  refused([&] { Model(tiny_shape(0), raw, {Isa::portable, 1, 600, false}); });
  raw = made.tensors.raw;
  raw["0.q"].bytes -= 1;
  refused([&] { Model(tiny_shape(0), raw, {Isa::portable, 2, 600, false}); });
  raw = made.tensors.raw;
  raw.erase("1.mlp_norm");
  refused([&] { Model(tiny_shape(0), raw, {Isa::portable, 1, 600, false}); });
}

// How many cores the calling thread may use; 0 where the system does not say.
int cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return 0;
}

void pool() {
  const int allowed = cores();
  for (const int threads : {1, 2, 5}) {
    { Pool unused(threads); }
    Pool pool(threads);
    const auto step = [&](int round) {
      const int units = round % 50;
      std::vector<int> done(units, 0);
      pool.each(units, [&](std::int64_t unit, int) {
        if ((unit + round) % 1009 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));  // others help out
        ++done[unit];
        if (round % 8 == 0) done[unit] += cores() != allowed;
      });
      for (const int d : done) check(d == 1, "every unit is done once, by a thread that may use every core");
    };
    for (int round = 0; round < 3000; ++round) {
      if (round % 500 == 499) {
        std::thread(step, round).join();  // the caller may change
      } else {
        step(round);
      }
      if (round % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // helpers fall asleep
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Passes from several threads, each on its own sequence.
void together() {
  Made made(Kind::Q4_1, {available_isas().back(), 2, 600, false}, 9);
  Plain plain(*made.model);
  const Text text = {3, 1, 2, 0, 5, 7, 11, 4};
  const std::vector<float> expected = plain.after(text);
  std::mutex mutex;  // over the checks
  const auto work = [&] {
    for (int round = 0; round < 20; ++round) {
      const int sequence = made.model->open();
      std::shared_ptr<const Result> last;
      for (const int token : text) {
        Forest one;
        one.add(sequence, token, -1);
        last = one.run(*made.model);
        made.model->keep(sequence, {0});
      }
      const std::lock_guard lock(mutex);
      check(row(*last, 0) == expected, "threads do not disturb each other");
      made.model->close(sequence);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
}

}  // namespace

int main() {
  pool();
  edges();
  damaged();
  together();
  thousands_of_forks();
  every_instruction_set_agrees();
  odd_histories();
  histories();
  return check.done("model_test");
}
