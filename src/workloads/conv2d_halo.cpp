// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/pack.hpp"
#include "workloads/checks/convolution.hpp"
#include "workloads/convolution.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace quadrille::workloads {

namespace {

namespace conv2d = kernels::conv2d;
namespace pack = kernels::pack;
using core::Range;
using measure::Leg;

/// What the ranks divide.
enum class Split { image, batch };
constexpr auto enum_names(Split) {
  return core::EnumNames<Split, 2>{{{Split::image, "image"}, {Split::batch, "batch"}}};
}

struct Parameters {
  ConvolutionKeys keys;
  Split split = Split::image;
  bool operator==(Parameters const&) const = default;
};

std::string conflict(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  if (p.split == Split::batch && spec.grid.rows > 0) {
    return "split = \"batch\" deals whole images and knows no grid; leave grid out";
  }
  return convolution_conflict(spec, p.keys);
}

std::int64_t end_of(Range const& range) { return range.first + range.count; }

Range common(Range const& a, Range const& b) {
  std::int64_t const first = std::max(a.first, b.first);
  return {first, std::max<std::int64_t>(0, std::min(end_of(a), end_of(b)) - first)};
}

/// Rows of an image or its columns, over the parts of a grid's side: outputs in blocks, and the pixels
/// between them. Pixels count from the image's first; those of the padding are stored as zeros, so that
/// a part at the border is like any other. Those that no window sees belong to nobody.
class Side {
 public:
  Side(std::int64_t outputs, std::int64_t taps, conv2d::Shape const& z, int parts)
      : outputs_{outputs, 0, parts},
        stride_{z.stride},
        padding_{z.padding},
        reach_{(taps - 1) * z.dilation + 1},
        // Half of what two neighbours' windows share, in whole strides: then the first window of what a
        // part owns begins with its first pixel.
        shift_{std::max<std::int64_t>(0, (reach_ - z.stride) / (2 * z.stride)) * z.stride} {}

  Range outputs(int part) const {
    std::int64_t const first = std::min(part * outputs_.block(), outputs_.size());
    return {first, outputs_.count(part)};
  }
  /// Pixels that windows of these outputs span.
  Range seen(Range const& outputs) const {
    if (outputs.count == 0) return {};
    return {outputs.first * stride_ - padding_, (outputs.count - 1) * stride_ + reach_};
  }
  Range owned(int part) const {
    Range const mine = outputs(part);
    std::int64_t const first = border(mine.first);
    return {first, border(end_of(mine)) - first};
  }
  /// Outputs whose windows lie in what the part owns.
  Range interior(int part) const {
    Range const pixels = owned(part);
    if (pixels.count < reach_) return {};
    return {(pixels.first + padding_) / stride_, (pixels.count - reach_) / stride_ + 1};
  }

 private:
  /// The first pixel of the part whose outputs begin here.
  std::int64_t border(std::int64_t output) const {
    if (output == 0) return -padding_;
    if (output == outputs_.size()) return end_of(seen({0, output}));
    return output * stride_ - padding_ + shift_;
  }

  comm::Distribution outputs_;
  std::int64_t stride_, padding_, reach_, shift_;
};

/// Part of all images: of their pixels or of their outputs.
struct Box {
  Range images, rows, cols;
  std::int64_t positions() const { return images.count * rows.count * cols.count; }
};

Box common(Box const& a, Box const& b) {
  return {common(a.images, b.images), common(a.rows, b.rows), common(a.cols, b.cols)};
}

/// A box with all its channels, without gaps.
struct Tensor {
  Box box;
  std::int64_t channels = 0;
  conv2d::DataLayout layout = conv2d::DataLayout::nchw;
  core::DataType type = core::DataType::f32;
  std::byte* data = nullptr;

  std::int64_t elements() const { return box.positions() * channels; }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * core::size_of(type); }
  /// A row for each image.
  device::MatrixView view() const {
    std::int64_t const size = box.rows.count * box.cols.count * channels;
    return {data, type, box.images.count, size, size};
  }
  bool is_nchw() const { return layout == conv2d::DataLayout::nchw; }
  std::int64_t row_pitch() const { return box.cols.count * (is_nchw() ? 1 : channels); }
  std::int64_t plane_pitch() const { return box.rows.count * row_pitch(); }
  std::int64_t planes_of_image() const { return is_nchw() ? channels : 1; }
  /// Of the first element of a part.
  std::byte* at(Box const& part) const {
    std::int64_t const plane = (part.images.first - box.images.first) * planes_of_image();
    std::int64_t const col = (part.cols.first - box.cols.first) * (is_nchw() ? 1 : channels);
    std::int64_t const element =
        plane * plane_pitch() + (part.rows.first - box.rows.first) * row_pitch() + col;
    return data + static_cast<std::size_t>(element) * core::size_of(type);
  }
  /// Whether a part has no gaps either.
  bool is_contiguous(Box const& part) const {
    bool const has_all_cols = part.cols.count == box.cols.count;
    bool const is_one_plane = part.images.count * planes_of_image() == 1;
    return has_all_cols && (is_one_plane || part.rows.count == box.rows.count);
  }
};

/// Parts of tensors that are copied into others, all in one launch.
class Copies {
 public:
  void add(Tensor const& from, Tensor const& to, Box const& part) {
    if (part.positions() == 0) return;
    pack::Box const box{.from = from.at(part),
                        .to = to.at(part),
                        .planes = part.images.count * from.planes_of_image(),
                        .rows = part.rows.count,
                        .cols = part.cols.count * (from.is_nchw() ? 1 : from.channels),
                        .from_plane = from.plane_pitch(),
                        .from_row = from.row_pitch(),
                        .to_plane = to.plane_pitch(),
                        .to_row = to.row_pitch()};
    all_.type = from.type;
    all_.max_planes = std::max(all_.max_planes, box.planes);
    all_.max_area = std::max(all_.max_area, box.rows * box.cols);
    boxes_.push_back(box);
  }
  /// Once, after the last add().
  void upload(comm::World const& world) {
    all_.count = static_cast<std::int64_t>(boxes_.size());
    table_ = {world.device(), all_.count, world.stream()};
    world.stream().copy(table_.data(), boxes_.data(), table_.bytes());
    all_.boxes = table_.data();
  }
  void run(device::StreamView stream) const { pack::copy(all_, stream); }

 private:
  std::vector<pack::Box> boxes_;
  pack::Boxes all_;
  device::Buffer<pack::Box> table_;
};

/// y = convolution of x by w, x and y split over ranks: by rows and columns of the images on a P x Q
/// grid, where the pixels that windows of two ranks share travel, or by images, where nothing does. A
/// rank packs what others need, and while that is under way convolves its interior, whose windows lie in
/// its own pixels; then the frame of up to four strips around it, out of own and received pixels. Each of
/// these is a convolution without padding of a tensor without gaps, as any variant takes. What does not
/// come out in its place in y is copied there.
class Conv2dHalo final : public measure::Workload {
 public:
  Conv2dHalo(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        shape_{shape_of(spec, p_.keys)},
        ranks_{ranks},
        rank_{rank},
        grid_{p_.split == Split::batch ? core::GridShape{1, 1}
              : spec.grid.rows > 0     ? spec.grid
                                       : comm::near_square(ranks)},
        rows_{shape_.out_h(), shape_.r, shape_, grid_.rows},
        cols_{shape_.out_w(), shape_.s, shape_, grid_.cols},
        x_{tensor(owned(rank), shape_.c)},
        y_{tensor(outputs(rank), shape_.k)} {
    Box const inner = interior(rank);
    // The interior is the convolution of all that the rank owns.
    if (inner.positions() > 0) tiles_.push_back(tile(inner, x_));
    for (Box const& strip : frame(y_.box, inner)) tiles_.push_back(tile(strip, {}));
    for (int r = 0; r < ranks; ++r) {
      sent_.push_back(tensor(halo(rank, r), shape_.c));
      received_.push_back(tensor(halo(r, rank), shape_.c));
    }
  }

  measure::Description describe(measure::Selection const&) const override {
    auto const width = static_cast<double>(core::size_of(case_.type));
    measure::Description d;
    bool const communicates = p_.split == Split::image;
    d.traits = {.communicates = communicates, .has_legs = communicates};
    d.amount = conv2d::flop(shape_);
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.device_bytes = conv2d::compulsory_bytes(shape_, width) +
                     width * static_cast<double>(shape_.k * shape_.terms()) * (ranks_ - 1);
    // Elements of x: zeros of the padding travel with the pixels beside them.
    double halos = 0, most = 0;
    for (int r = 0; r < ranks_; ++r) {
      Box const mine = outputs(r), pixels = owned(r), needed = seen(mine);
      std::int64_t const received = needed.positions() - common(needed, pixels).positions();
      halos += static_cast<double>(received * shape_.c);
      // What a rank sends is about what it receives.
      std::int64_t held = pixels.positions() + 2 * received;
      for (Box const& strip : frame(mine, interior(r))) held += seen(strip).positions();
      most = std::max(most, static_cast<double>(shape_.c * held + 2 * shape_.k * mine.positions()));
    }
    d.network_bytes = width * halos;
    if (communicates) {
      d.extras = {{"halos", d.network_bytes, "B/s"}};
      d.traffic = {comm::Operation::alltoall, d.network_bytes / ranks_};
    }
    d.memory_bytes = width * (most + static_cast<double>(shape_.k * shape_.terms()) +
                              static_cast<double>(shape_.c * shape_.h * shape_.w));
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    for (Tile const& tile : tiles_) {
      conv2d::Problem const problem = problem_of(tile);
      std::string const reason = row_of(conv2d::variants(), variant).unsupported_reason(problem);
      if (reason.empty()) continue;
      return fmt::format("{} in a part of {} x {} outputs", reason, problem.shape.out_h(),
                         problem.shape.out_w());
    }
    return {};
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(selected, device)) + workspace_bytes(selected);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!channel_) allocate(world, selected);
    whole_.x = {case_.data, seed, 0};
    whole_.w = {case_.data, seed, 1};
    fill(w_.view(), whole(w_.view().rows, w_.view().cols), whole_.w, world);
    // Image by image, of which the rank keeps its own pixels.
    for (std::int64_t n = 0; n < x_.box.images.count && x_.elements() > 0; ++n) {
      fill(image_.view(), block_from(x_.box.images.first + n, 0), whole_.x, world);
      cut_[static_cast<std::size_t>(n)].run(world.stream());
    }
    world.stream().synchronize();
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(y_.data, 0xFF, y_.bytes());
    // Halos of the run before would be right.
    world.stream().fill(receive_memory_.data(), 0xFF, receive_memory_.bytes());
    world.stream().fill(strip_memory_.data(), 0xFF, strip_memory_.bytes());
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    device::StreamView const compute = world.stream();
    device::StreamView const communicate = world.comm_stream();
    if (leg != Leg::communicate) pack_.run(compute);
    // The halos of the run before were read before this, too.
    compute.record(packed_);
    comm::Request arrived;
    if (leg != Leg::compute) {
      communicate.wait(packed_);
      arrived = exchange(communicate);
    }
    if (leg == Leg::communicate) return arrived.wait_on(compute);
    if (leg == Leg::serial) arrived.wait_on(compute);
    auto const& convolution = row_of(conv2d::variants(), variant);
    bool const has_interior = !tiles_.empty() && tiles_[0].in_place;
    if (has_interior) convolution.launch(problem_of(tiles_[0]), compute);
    arrived.wait_on(compute);
    unpack_.run(compute);
    for (std::size_t t = has_interior ? 1 : 0; t < tiles_.size(); ++t) {
      convolution.launch(problem_of(tiles_[t]), compute);
    }
    join_.run(compute);
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    if (tiles_.empty()) return {};
    return row_of(conv2d::variants(), variant).implementation(problem_of(tiles_[0]));
  }

  measure::Verdict validate(comm::World& world) override {
    Convolution mine = whole_;
    mine.y = y_.view();
    return check_convolution(mine, world, case_.check);
  }

  std::vector<measure::Field> fields() override {
    measure::Field const w = field("w", w_.view(), whole(w_.view().rows, w_.view().cols));
    return {measure::input(field_of("x", x_, shape_.h, shape_.w)),
            measure::input(of_rank_0(w, rank_)),
            measure::output(field_of("y", y_, shape_.out_h(), shape_.out_w()))};
  }

 private:
  /// A part of this rank's outputs that one convolution computes.
  struct Tile {
    Tensor x, y;
    bool in_place = false;  ///< x is the rank's own, not gathered
  };

  Range images(int r) const {
    if (p_.split == Split::image) return {0, shape_.n};
    comm::Distribution const all{shape_.n, 0, ranks_};
    return {std::min(r * all.block(), shape_.n), all.count(r)};
  }
  int row_of_grid(int r) const { return p_.split == Split::image ? r / grid_.cols : 0; }
  int col_of_grid(int r) const { return p_.split == Split::image ? r % grid_.cols : 0; }
  Box outputs(int r) const {
    return {images(r), rows_.outputs(row_of_grid(r)), cols_.outputs(col_of_grid(r))};
  }
  Box owned(int r) const {
    return {images(r), rows_.owned(row_of_grid(r)), cols_.owned(col_of_grid(r))};
  }
  Box interior(int r) const {
    return {images(r), rows_.interior(row_of_grid(r)), cols_.interior(col_of_grid(r))};
  }
  Box seen(Box const& outputs) const {
    return {outputs.images, rows_.seen(outputs.rows), cols_.seen(outputs.cols)};
  }
  /// What one rank sends to another.
  Box halo(int from, int to) const {
    return from == to ? Box{} : common(owned(from), seen(outputs(to)));
  }

  /// What is around the interior: whole rows above and below it, and the columns beside it.
  static std::vector<Box> frame(Box const& all, Box const& inner) {
    std::vector<Box> strips{all};
    if (inner.positions() > 0) {
      auto const before = [](Range const& of, Range const& in) {
        return Range{of.first, in.first - of.first};
      };
      auto const behind = [](Range const& of, Range const& in) {
        return Range{end_of(in), end_of(of) - end_of(in)};
      };
      strips = {{all.images, before(all.rows, inner.rows), all.cols},
                {all.images, behind(all.rows, inner.rows), all.cols},
                {all.images, inner.rows, before(all.cols, inner.cols)},
                {all.images, inner.rows, behind(all.cols, inner.cols)}};
    }
    std::erase_if(strips, [](Box const& strip) { return strip.positions() == 0; });
    return strips;
  }

  Tensor tensor(Box const& box, std::int64_t channels) const {
    return {box, channels, p_.keys.layout, case_.type, nullptr};
  }
  Tile tile(Box const& outputs, Tensor const& own) const {
    bool const in_place = own.elements() > 0;
    return {in_place ? own : tensor(seen(outputs), shape_.c), tensor(outputs, shape_.k), in_place};
  }

  conv2d::Problem problem_of(Tile const& tile) const {
    conv2d::Shape z = shape_;
    z.n = tile.x.box.images.count;
    z.h = tile.x.box.rows.count;
    z.w = tile.x.box.cols.count;
    z.padding = 0;
    conv2d::Problem problem = conv2d::unallocated(z, p_.keys.layout, case_.type, case_.compute);
    problem.x.data = tile.x.data;
    problem.w.data = w_.view().data;
    problem.y.data = tile.y.data;
    problem.scratch = scratch_.data();
    problem.scratch_bytes = scratch_.bytes();
    return problem;
  }

  std::size_t max_scratch(measure::Selection const& selected, device::Facts const& device) const {
    std::size_t bytes = 0;
    for (Tile const& tile : tiles_) {
      bytes = std::max(
          bytes, workloads::max_scratch(conv2d::variants(), problem_of(tile), selected, device));
    }
    return bytes;
  }

  /// Memory for tensors, each aligned as a device aligns what it allocates.
  static device::Buffer<std::byte> place(std::vector<Tensor*> const& tensors,
                                         comm::World const& world) {
    constexpr std::size_t kAlignment = 256;
    std::size_t bytes = 0;
    for (Tensor const* t : tensors)
      bytes += (t->bytes() + kAlignment - 1) / kAlignment * kAlignment;
    device::Buffer<std::byte> memory{world.device(), static_cast<std::int64_t>(bytes),
                                     world.stream()};
    std::byte* next = memory.data();
    for (Tensor* t : tensors) {
      t->data = next;
      next += (t->bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    return memory;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    whole_ = {.shape = shape_,
              .layout = p_.keys.layout,
              .type = case_.type,
              .compute = case_.compute,
              .images = y_.box.images,
              .rows = y_.box.rows,
              .cols = y_.box.cols};
    w_ = {world.device(), case_.type, shape_.k, shape_.terms(), world.stream()};
    own_memory_ = place({&x_, &y_}, world);
    world.stream().fill(x_.data, 0, x_.bytes());  // the padding
    place_tiles(world);
    place_halos(world);
    cut_images(world);
    packed_ = device::Event{world.device()};
    channel_ = world.transport(case_).connect(world.group());
    scratch_ = allocate_scratch(max_scratch(selected, world.device().facts()), world);
  }

  void place_tiles(comm::World const& world) {
    std::vector<Tensor*> strips, outputs;
    for (Tile& tile : tiles_) {
      if (tile.in_place) tile.x = x_;
      if (!tile.in_place) strips.push_back(&tile.x);
      if (y_.is_contiguous(tile.y.box)) {
        tile.y.data = y_.at(tile.y.box);
      } else {
        outputs.push_back(&tile.y);
      }
    }
    strip_memory_ = place(strips, world);
    output_memory_ = place(outputs, world);
    for (Tensor const* part : outputs) join_.add(*part, y_, part->box);
    join_.upload(world);
  }

  void place_halos(comm::World const& world) {
    std::vector<Tensor*> sent, received;
    for (Tensor& halo : sent_) sent.push_back(&halo);
    for (Tensor& halo : received_) received.push_back(&halo);
    send_memory_ = place(sent, world);
    receive_memory_ = place(received, world);
    for (Tensor const& halo : sent_) {
      pack_.add(x_, halo, halo.box);
      send_.push_back({halo.data, halo.bytes()});
    }
    for (Tensor const& halo : received_) receive_.push_back({halo.data, halo.bytes()});
    for (Tile const& tile : tiles_) {
      if (tile.in_place) continue;
      unpack_.add(x_, tile.x, common(x_.box, tile.x.box));
      for (Tensor const& halo : received_) {
        unpack_.add(halo, tile.x, common(halo.box, tile.x.box));
      }
    }
    pack_.upload(world);
    unpack_.upload(world);
  }

  void cut_images(comm::World const& world) {
    if (x_.elements() == 0) return;
    image_ = {world.device(), case_.type, 1, shape_.c * shape_.h * shape_.w, world.stream()};
    Range const& images = x_.box.images;
    for (std::int64_t n = images.first; n < end_of(images); ++n) {
      Tensor image = tensor({{n, 1}, {0, shape_.h}, {0, shape_.w}}, shape_.c);
      image.data = static_cast<std::byte*>(image_.view().data);
      cut_.emplace_back().add(image, x_, common(image.box, x_.box));
      cut_.back().upload(world);
    }
  }

  comm::Request exchange(device::StreamView stream) const {
    return channel_->alltoallv(send_, receive_, stream);
  }

  /// The tensor as a file holds the whole of it: as rows of its planes, which are of so many rows and
  /// columns.
  measure::Field field_of(std::string name, Tensor const& part, std::int64_t rows,
                          std::int64_t cols) const {
    std::int64_t const in_row = part.is_nchw() ? 1 : part.channels;
    std::int64_t const planes = part.planes_of_image();
    measure::Field result;
    result.name = std::move(name);
    result.type = case_.type;
    result.view = part.view();
    result.shape = {shape_.n * planes * rows, cols * in_row};
    Box const inside = common(part.box, {part.box.images, {0, rows}, {0, cols}});
    if (inside.positions() == 0) return result;
    for (std::int64_t p = 0; p < inside.images.count * planes; ++p) {
      std::byte* const first = part.at(inside) + static_cast<std::size_t>(p * part.plane_pitch()) *
                                                     core::size_of(case_.type);
      std::int64_t const plane = inside.images.first * planes + p;
      result.blocks.push_back(
          {plane * rows + inside.rows.first,
           inside.cols.first * in_row,
           {first, case_.type, inside.rows.count, inside.cols.count * in_row, part.row_pitch()}});
    }
    return result;
  }

  core::Case case_;
  Parameters p_;
  conv2d::Shape shape_;  // of the whole
  int ranks_, rank_;
  core::GridShape grid_;
  Side rows_, cols_;
  Tensor x_, y_;                         // this rank's; without memory before prepare()
  std::vector<Tile> tiles_;              // the interior first, where there is one
  std::vector<Tensor> sent_, received_;  // by rank
  Convolution whole_;
  device::Matrix w_, image_;
  device::Buffer<std::byte> own_memory_, strip_memory_, output_memory_, send_memory_,
      receive_memory_, scratch_;
  std::vector<Copies> cut_;      // own pixels out of each image
  Copies pack_, unpack_, join_;  // halos, strips of the frame, outputs
  std::vector<comm::ConstPiece> send_;
  std::vector<comm::Piece> receive_;
  device::Event packed_;
  std::unique_ptr<comm::Channel> channel_;
};

std::vector<core::Option> options() {
  std::vector<core::Option> all = convolution_options(&Parameters::keys);
  all.push_back(core::options::method(
      core::options::choice("split", core::options::at(&Parameters::split),
                            "what ranks divide: images, or the batch without halos")));
  return all;
}

}  // namespace

namespace entries {

extern measure::WorkloadEntry const conv2d_halo = measure::entry({
    .schema = {.name = "conv2d_halo",
               .extents = convolution_extents(),
               .min_extent = 1,
               .max_extent = std::numeric_limits<std::int32_t>::max(),
               .has_auto = false,
               .keys = {.transport = true, .grid = true, .legs = true, .compute = true},
               .defaults = core::Parameters{Parameters{}},
               .options = options(),
               .conflict = conflict},
    .summary = "2-D convolution of images split over a process grid, halos under the interior",
    .work = "2 n k p q (c / groups) r s flop",
    .local = false,
    .variants = rows_of(kernels::conv2d::variants()),
    .make = measure::make<Conv2dHalo>,
    .secondary =
        {{"halos", "B/s",
          "edges of images that ranks get from neighbours, over the time of a repetition."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
