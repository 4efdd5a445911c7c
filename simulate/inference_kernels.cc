#include "simulate/inference_kernels.h"

#include <algorithm>
#include <array>

namespace telltale::simulate {
namespace {

// Rows up to which each bucket of tiles goes; the last one has all above.
constexpr std::array<uint64_t, 4> kBuckets = {16, 64, 256, 1024};

using Tiles = std::array<std::string_view, kBuckets.size() + 1>;

constexpr std::array<Tiles, 5> kMatrixKernels = {{
    {"nvjet_sm90_tst_32x64_64x16_2x1_v_bz_bias_TNN", "nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNN",
     "nvjet_sm90_tst_128x64_64x9_1x2_h_bz_coopA_bias_TNT",
     "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_coopB_bias_TNN",
     "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_bias_TNT"},
    {"nvjet_sm90_tst_64x16_64x16_4x1_v_bz_bias_TNT", "nvjet_sm90_tst_64x32_64x16_2x1_v_bz_bias_TNT",
     "nvjet_sm90_tst_64x128_64x9_2x1_v_bz_bias_TNN",
     "nvjet_sm90_tst_144x128_64x6_2x1_v_bz_bias_TNN",
     "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_bias_TNN"},
    {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_bias_TNT", "nvjet_sm90_tst_128x32_64x10_1x2_h_bz_bias_TNT",
     "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_coopA_bias_TNN",
     "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNT",
     "nvjet_sm90_tst_256x128_64x4_2x1_v_bz_coopA_bias_TNT"},
    {"nvjet_sm90_tst_64x16_64x16_2x4_h_bz_splitK_TNT",
     "nvjet_sm90_tst_64x64_64x12_4x1_v_bz_bias_TNT", "nvjet_sm90_tst_128x96_64x8_2x1_v_bz_bias_TNT",
     "nvjet_sm90_tst_160x128_64x5_2x1_v_bz_coopB_bias_TNN",
     "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopB_bias_TNN"},
    {"nvjet_sm90_tst_192x8_64x8_4x1_v_bz_TNT", "nvjet_sm90_tst_192x32_64x8_2x1_v_bz_TNT",
     "nvjet_sm90_tst_192x128_64x5_2x1_v_bz_coopA_TNT", "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_TNT",
     "nvjet_sm90_tst_256x192_64x4_2x1_v_bz_TNT"},
}};

size_t BucketOf(uint64_t rows) {
  return static_cast<size_t>(std::lower_bound(kBuckets.begin(), kBuckets.end(), rows) -
                             kBuckets.begin());
}

constexpr EngineOperators kVllmOperators = {
    {"_C::rms_norm",
     "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, "
     "long, long, long, long, c10::BFloat16 const*, float, int, int)"},
    {"_C::fused_add_rms_norm",
     "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
     "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, "
     "c10::BFloat16 const*, float, int, int)"},
    {"_C::rotary_embedding",
     "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, "
     "c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)"},
    {"_C_cache_ops::reshape_and_cache_flash",
     "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
     "(vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, "
     "__nv_bfloat16*, long const*, long, long, long, long, long, int, int, int, float const*, "
     "float const*)"},
    {"_C::silu_and_mul",
     "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 "
     "vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 "
     "const*, int)"},
    "vllm::unified_attention_with_output",
    "_vllm_fa2_C::varlen_fwd",
    "void flash::flash_fwd_kernel<flash::Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
    "cutlass::bfloat16_t, flash::Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> >, "
    "false, true, false, false, false, true, false, false>(flash::Flash_fwd_params)",
    "void flash::flash_fwd_splitkv_kernel<flash::Flash_fwd_kernel_traits<128, 64, 128, 4, false, "
    "false, cutlass::bfloat16_t, flash::Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> "
    ">, false, false, false, false, true, false, false, false>(flash::Flash_fwd_params)",
    "void flash::flash_fwd_splitkv_kernel<flash::Flash_fwd_kernel_traits<128, 64, 128, 4, false, "
    "false, cutlass::bfloat16_t, flash::Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> "
    ">, false, false, false, false, true, false, true, false>(flash::Flash_fwd_params)",
    "void flash::flash_fwd_splitkv_combine_kernel<flash::Flash_fwd_kernel_traits<128, 64, 128, 4, "
    "false, false, cutlass::bfloat16_t, flash::Flash_kernel_traits<128, 64, 128, 4, "
    "cutlass::bfloat16_t> >, 4, 3, true>(flash::Flash_fwd_params)",
    "vllm::all_reduce",
    "vllm::all_gather",
};

constexpr EngineOperators kSglangOperators = {
    {"sgl_kernel::rmsnorm",
     "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, "
     "__nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)"},
    {"sgl_kernel::fused_add_rmsnorm",
     "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, "
     "__nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)"},
    {"sgl_kernel::apply_rope_pos_ids_cos_sin_cache",
     "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<false, 128u, 8u, 16u, "
     "__nv_bfloat16, long>(__nv_bfloat16*, __nv_bfloat16*, float*, long*, unsigned int)"},
    {"sgl_kernel::store_kv_cache",
     "void store_kv_cache_256x1<long>(unsigned long*, unsigned long*, unsigned long const*, "
     "unsigned long const*, long const*, unsigned long, int)"},
    {"sgl_kernel::silu_and_mul",
     "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float "
     "const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)"},
    "sglang::unified_attention_with_output",
    "sgl_kernel::fwd",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<128, 176, true, false, "
    "cutlass::bfloat16_t, false> > >(flash::FlashAttnFwdSm90<128, 176, true, false, "
    "cutlass::bfloat16_t, false>::Params)",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<64, 128, false, false, "
    "cutlass::bfloat16_t, false> > >(flash::FlashAttnFwdSm90<64, 128, false, false, "
    "cutlass::bfloat16_t, false>::Params)",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<64, 128, false, true, "
    "cutlass::bfloat16_t, true> > >(flash::FlashAttnFwdSm90<64, 128, false, true, "
    "cutlass::bfloat16_t, true>::Params)",
    "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> "
    ">, 5, 256, 1, true, cutlass::bfloat16_t, float, cutlass::arch::Sm90> "
    ">(flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 5, 256, 1, true, "
    "cutlass::bfloat16_t, float, cutlass::arch::Sm90>::Params)",
    "sglang::outplace_all_reduce",
    "sglang::reg_all_gather_into_tensor",
};

}  // namespace

std::string_view MatrixKernel(Projection projection, uint64_t rows) {
  return kMatrixKernels[static_cast<size_t>(projection)][BucketOf(rows)];
}

bool SplitsInnerDimension(Projection projection, uint64_t rows) {
  return MatrixKernel(projection, rows).find("splitK") != std::string_view::npos;
}

const EngineOperators& OperatorsOf(Engine engine) {
  return engine == Engine::kSglang ? kSglangOperators : kVllmOperators;
}

std::string_view IndexSelectKernel(uint64_t rows) {
  if (rows <= 16) {
    return "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, int, "
           "unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
           "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
           "at::cuda::detail::TensorInfo<int const, unsigned int>, int, int, unsigned int, long)";
  }
  return "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, int, "
         "unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
         "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
         "at::cuda::detail::TensorInfo<int const, unsigned int>, int, int, unsigned int, unsigned "
         "int, long)";
}

std::string_view ToFloatKernel() {
  return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
         "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() "
         "const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned "
         "int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "
         "at::native::memory::StoreWithCast<1> >";
}

std::string_view ToIntKernel() {
  return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
         "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#3}::operator()() "
         "const::{lambda(int)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned "
         "int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "
         "at::native::memory::StoreWithCast<1> >";
}

std::string_view CopyKernel() {
  return "void at::native::elementwise_kernel<128, 4, "
         "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::"
         "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() "
         "const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)";
}

std::string_view SubtractKernel() {
  return "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctorOnSelf_add<int>, "
         "std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
         "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, "
         "at::native::memory::StoreWithoutCast>";
}

std::string_view DivideKernel() {
  return "void at::native::elementwise_kernel<128, 2, "
         "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
         "at::native::binary_internal::DivFunctor<float> > "
         ">(at::TensorIteratorBase&)::{lambda(int)#1}>(int)";
}

std::string_view SoftmaxKernel() {
  return "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
         "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*, float const*, int)";
}

std::string_view ExponentialKernel() {
  return "void at::native::(anonymous "
         "namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
         "at::native::templates::cuda::exponential_kernel<at::CUDAGeneratorImpl*>>(long, "
         "at::PhiloxCudaState)";
}

std::string_view ArgmaxKernel() {
  return "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >";
}

std::string_view SplitReduceKernel() {
  return "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, "
         "__nv_bfloat16, false, true, false>(cublasLt::cublasSplitKParams<float>, float const*, "
         "__nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, float const*, float const*)";
}

}  // namespace telltale::simulate
