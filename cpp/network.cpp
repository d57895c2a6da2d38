#include "network.h"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>

namespace headstart {
namespace {

// Gives the memory of a mapped tensor back; its pages stay in the file cache.
void release(const RawTensor& tensor) {
  if (!tensor.mapped) return;
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(tensor.data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

// Gives back what reading and packing have freed.
void trim_heap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

std::shared_ptr<const Matrix> pack(const RawTensor& t, bool precise, Isa isa) {
  auto matrix = Matrix::pack(t.kind, t.outputs, t.inputs, t.data, t.bytes, isa);
  if (precise && t.kind != Kind::F32) {
    std::vector<float> values(static_cast<std::size_t>(t.outputs) * t.inputs);
    for (std::int64_t o = 0; o < t.outputs; ++o) matrix->row(o, values.data() + o * t.inputs);
    matrix = Matrix::pack(Kind::F32, t.outputs, t.inputs, reinterpret_cast<const std::uint8_t*>(values.data()),
                          values.size() * sizeof(float), isa);
  }
  release(t);
  return matrix;
}

// The same call, its complaint under the tensor's name.
template <class Call>
auto named(const std::string& name, const Call& call) {
  try {
    return call();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("tensor '" + name + "': " + error.what());
  }
}

class Loader {
 public:
  Loader(const RawTensors& tensors, bool precise, Isa isa, Pool& pool) : tensors_(tensors), isa_(isa) {
    std::vector<const RawTensors::value_type*> work;
    for (const auto& tensor : tensors)
      if (tensor.second.outputs > 1) work.push_back(&tensor);
    const auto larger = [](const auto* a, const auto* b) { return a->second.bytes > b->second.bytes; };
    std::sort(work.begin(), work.end(), larger);  // so that no thread is left with a large one at the end
    pool.each(static_cast<std::int64_t>(work.size()), [&](std::int64_t unit, int) {
      guarded(work[unit]->first, [&] { return pack(work[unit]->second, precise, isa); });
    });
    if (failure_) std::rethrow_exception(failure_);
  }

  std::shared_ptr<const Matrix> matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs) const {
    const auto found = packed_.find(name);
    if (found == packed_.end()) throw std::invalid_argument("the model has no tensor '" + name + "'");
    check_shape(name, found->second->outputs == outputs && found->second->inputs == inputs);
    return found->second;
  }

  bool has(const std::string& name) const { return tensors_.count(name) > 0; }

  // Empty if there is none.
  Vector vector(const std::string& name, int size) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    const RawTensor& t = found->second;
    check_shape(name, t.outputs == 1 && t.inputs == size);
    Vector values(padded_to_lanes(size));
    named(name, [&] { Matrix::pack(t.kind, 1, t.inputs, t.data, t.bytes, isa_)->row(0, values.data()); });
    return values;
  }

  void add(Fan& fan, const std::string& name, int outputs, int inputs) const {
    fan.add(matrix(name, outputs, inputs), vector(name + "_bias", outputs));
  }

 private:
  static void check_shape(const std::string& name, bool fits) {
    if (!fits) throw std::invalid_argument("tensor '" + name + "' has not the shape that the model's numbers ask for");
  }

  // Work of the pool must not throw.
  template <class Make>
  void guarded(const std::string& name, const Make& make) {
    try {
      auto made = named(name, make);
      const std::lock_guard lock(mutex_);
      packed_[name] = std::move(made);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  const RawTensors& tensors_;
  Isa isa_;
  std::unordered_map<std::string, std::shared_ptr<const Matrix>> packed_;
  std::exception_ptr failure_;
  std::mutex mutex_;
};

Vector needed(Vector vector, const std::string& name) {
  if (vector.size() == 0) throw std::invalid_argument("the model has no tensor '" + name + "'");
  return vector;
}

Layer load_layer(const Loader& loader, const Shape& s, int index, int threads) {
  const std::string prefix = std::to_string(index) + ".";
  const int heads = s.head_count * s.head_size, kv_heads = s.kv_head_count * s.head_size;
  Layer layer;
  layer.attn_norm = needed(loader.vector(prefix + "attn_norm", s.hidden_size), prefix + "attn_norm");
  layer.mlp_norm = needed(loader.vector(prefix + "mlp_norm", s.hidden_size), prefix + "mlp_norm");
  layer.q_norm = loader.vector(prefix + "q_norm", s.head_size);
  layer.k_norm = loader.vector(prefix + "k_norm", s.head_size);
  loader.add(layer.qkv, prefix + "q", heads, s.hidden_size);
  loader.add(layer.qkv, prefix + "k", kv_heads, s.hidden_size);
  loader.add(layer.qkv, prefix + "v", kv_heads, s.hidden_size);
  loader.add(layer.o, prefix + "o", s.hidden_size, heads);
  loader.add(layer.gate_up, prefix + "gate", s.intermediate_size, s.hidden_size);
  loader.add(layer.gate_up, prefix + "up", s.intermediate_size, s.hidden_size);
  loader.add(layer.down, prefix + "down", s.hidden_size, s.intermediate_size);
  layer.qkv.cut(threads, s.head_size);  // its units turn and store whole heads
  for (Fan* fan : {&layer.o, &layer.down}) fan->cut(threads);
  layer.gate_up.cut(threads, kPreparedTogether);  // its units prepare what `down` reads
  return layer;
}

}  // namespace

void Fan::add(std::shared_ptr<const Matrix> matrix, Vector bias) {
  const auto same = [&](const Preparation& p) { return p.by->prepare_id() == matrix->prepare_id(); };
  const auto found = std::find_if(preparations_.begin(), preparations_.end(), same);
  const int preparation = static_cast<int>(found - preparations_.begin());
  if (found == preparations_.end()) {
    preparations_.push_back({matrix.get(), prepared_bytes_});
    prepared_bytes_ += matrix->prepared_bytes();
  }
  parts_.push_back({matrix, std::move(bias), outputs_, preparation});
  outputs_ += padded_to_lanes(static_cast<int>(matrix->outputs));
}

void Fan::cut(int threads, int grain) {
  // Small enough that no thread waits long for another, large enough to read memory in long runs.
  constexpr std::size_t least = 24 * 1024, most = 256 * 1024;
  const std::size_t target = std::clamp(bytes() / (threads * 8), least, most);
  for (const Part& part : parts_) {
    const Matrix& m = *part.matrix;
    const std::size_t group_bytes = std::max<std::size_t>(m.bytes * m.group / m.outputs, 1);
    const std::int64_t multiple = std::lcm(m.group, static_cast<std::int64_t>(grain));
    const std::int64_t wanted = static_cast<std::int64_t>(target / group_bytes) * m.group;
    const std::int64_t step = std::max<std::int64_t>((wanted + multiple / 2) / multiple, 1) * multiple;
    for (std::int64_t begin = 0; begin < m.outputs; begin += step)
      units_.push_back({&part, begin, std::min(begin + step, m.outputs)});
  }
}

bool Fan::quantised() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.matrix->prepare_id() != 0; });
}

std::size_t Fan::bytes() const {
  std::size_t sum = 0;
  for (const Part& part : parts_) sum += part.matrix->bytes;
  return sum;
}

void Fan::prepare(const float* x, std::int64_t begin, std::int64_t end, int row, int rows,
                  std::uint8_t* prepared) const {
  for (const Preparation& p : preparations_)
    p.by->prepare(x, begin, end, prepared + p.offset * rows + p.by->prepared_bytes() * row);
}

void Fan::multiply(const Unit& unit, const std::uint8_t* prepared, int rows, float* out, std::size_t stride) const {
  const Part& part = *unit.part;
  part.matrix->multiply(prepared + preparations_[part.preparation].offset * rows, rows, unit.begin, unit.end, out,
                        stride);
  if (part.bias.size() == 0) return;
  for (int r = 0; r < rows; ++r)
    for (std::int64_t o = unit.begin; o < unit.end; ++o) out[r * stride + o] += part.bias.data()[o];
}

Network::Network(const Shape& s, const RawTensors& tensors, bool precise, Isa isa, Pool& pool) : shape(s) {
  const Loader loader(tensors, precise, isa, pool);
  embed = loader.matrix("embed", s.vocab_size, s.hidden_size);
  final_norm = needed(loader.vector("final_norm", s.hidden_size), "final_norm");
  for (int index = 0; index < s.layer_count; ++index)
    layers.push_back(load_layer(loader, s, index, pool.threads()));
  const bool tied = !loader.has("head");
  head.add(tied ? embed : loader.matrix("head", s.vocab_size, s.hidden_size), loader.vector("head_bias", s.vocab_size));
  head.cut(pool.threads());
  bytes = head.bytes() + (tied ? 0 : embed->bytes);
  trim_heap();
  for (const Layer& l : layers) bytes += l.qkv.bytes() + l.o.bytes() + l.gate_up.bytes() + l.down.bytes();
}

}  // namespace headstart
