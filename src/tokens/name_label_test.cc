#include "tokens/name_label.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tokens/kernel_name.h"
#include "tokens/mangled_name.h"

namespace telltale::tokens {
namespace {

using trace::EventKind;

std::string Kernel(std::string_view name) { return LabelOfName(EventKind::kKernel, name); }
std::string Operator(std::string_view name) { return LabelOfName(EventKind::kOperator, name); }
std::string Range(std::string_view name) { return LabelOfName(EventKind::kRange, name); }
std::string Python(std::string_view name) { return LabelOfName(EventKind::kPython, name); }

TEST(NameLabel, KernelsLoseTypesArgumentsAndParameters) {
  EXPECT_EQ(Kernel("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned "
                   "int, 2, 64, 64>(float*, at::native::(anonymous namespace)::Meta<float, 1>)"),
            "at::native::(anonymous namespace)::CatArrayBatchedCopy");
  EXPECT_EQ(Kernel("void at::native::<unnamed>::CatArrayBatchedCopy<float, (int)2>(float *)"),
            "at::native::(anonymous namespace)::CatArrayBatchedCopy");
  EXPECT_EQ(
      Kernel("void at::native::vectorized_elementwise_kernel<4, "
             "at::native::cos_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
             "const::{lambda(float)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"),
      "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(Kernel("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, "
                   "void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(float, int)"),
            "vllm::fused_add_rms_norm_kernel");
  EXPECT_EQ(Kernel("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7>(int)"),
            "internal::gemvx::kernel");
  EXPECT_EQ(Kernel("void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<int>(int) "
                   "[clone .kd]"),
            "rocprim::ROCPRIM_#_NS::detail::trampoline_kernel");
  EXPECT_EQ(Kernel("unsigned int* plain(int)"), "plain");
  EXPECT_EQ(Kernel("name of no function 3"), "name of no function #");
}

TEST(NameLabel, OperatorsAndLambdasKeepTheirNames) {
  EXPECT_EQ(FunctionPath("bool a::operator< <int>(a::B const&)"), "a::operator<");
  EXPECT_EQ(FunctionPath("a& a::operator<< <int>(a&, int)"), "a::operator<<");
  EXPECT_EQ(FunctionPath("a::B::operator()(int) const"), "a::B::operator()");
  EXPECT_EQ(FunctionPath("a::B::operator ()(int) const"), "a::B::operator()");
  EXPECT_EQ(FunctionPath("a::B<int>::operator->() const"), "a::B::operator->");
  EXPECT_EQ(FunctionPath("a::B::operator unsigned int() const"), "a::B::operator unsigned int");
  EXPECT_EQ(FunctionPath("void f<&(a::operator< <int>)>(int)"), "f");
  EXPECT_EQ(FunctionPath("void f<(1<2), (3>2)>(int)"), "f");
  EXPECT_EQ(FunctionPath("f(int)::{lambda(float, int)#1}::operator()(float) const"),
            "f::{lambda}::operator()");
  EXPECT_EQ(FunctionPath("f(int)::[lambda(float) (instance 1)]::operator ()(float) const"),
            "f::{lambda}::operator()");
  EXPECT_EQ(FunctionPath("my_operator<3>(int)"), "my_operator");
  for (const char* broken :
       {"f<int", "f>(int)", "f(int", "f)", "<<<<", "f<(int>)", "()", "", "a < b"}) {
    EXPECT_EQ(FunctionPath(broken), "") << broken;
  }
}

TEST(NameLabel, MangledKernels) {
  EXPECT_EQ(
      Kernel("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_"
             "PT_PfS4_S4_S4_diiiiiiib"),
      "aiter::add_rmsnorm_quant_kernel");
  // A function as a template argument, and the kinds of parameters told (C++20).
  EXPECT_EQ(Kernel("_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_"
                   "Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i"),
            "sgl_hip::activation::act_and_mul_kernel");
  EXPECT_EQ(Kernel("_ZN7ck_tile6kentryILi1ENS_4NormIJLi1ELi3072EEEEJEEEvDpT1_.kd"),
            "ck_tile::kentry");
  EXPECT_EQ(Kernel("_ZN2at6native12_GLOBAL__N_16kernelIfEEvPT_"),
            Kernel("void at::native::(anonymous namespace)::kernel<float>(float*)"));
  EXPECT_EQ(PathOfMangledName("_Z3fooi"), "foo");
  EXPECT_EQ(PathOfMangledName("_ZSt4swapIiEvRT_S1_"), "std::swap");
  EXPECT_EQ(PathOfMangledName("_ZZ4mainENKUlvE_clEv"), "main::{lambda}::operator()");
  EXPECT_EQ(PathOfMangledName("_ZN1a1fILNS_1EE2EEEvv"), "a::f");
  for (const char* broken : {"_Z", "_ZN", "_Z99999999999999999999a", "_Z5ab", "_ZN1aI", "foo",
                             "_ZN1aILi1", "_ZN1aIXE"}) {
    EXPECT_EQ(PathOfMangledName(broken), "") << broken;
  }
  // A demangler would write 2^80 names.
  std::string bomb = "_Z1fI1AS_";
  for (int i = 0; i < 80; ++i) bomb += "1BIS0_S0_E";
  EXPECT_EQ(Kernel(bomb + "Evv"), "f");
  EXPECT_EQ(Kernel("_ZN4half_broken128"), "_ZN#half_broken#");
}

TEST(NameLabel, KernelsLoseSizesButNotTypes) {
  EXPECT_EQ(Kernel("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT"),
            "nvjet_tst_#x#_#x#_#x#_#cta_v_bz_bias_TNT");
  EXPECT_EQ(Kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_stage4"),
            "sm#_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize#x#x#_stage#");
  EXPECT_EQ(Kernel("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"),
            "_matmul_ogs_NNT_bf16xbf16xmxfp4_#x#x#x#_swiglu");
  EXPECT_EQ(Kernel("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_cga1x1x1_sm100f"),
            "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t#x#x#u#_s#_cga#x#x#_sm#f");
  EXPECT_EQ(Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(Kernel("ncclKernel_AllReduce_TREE_LL128_Sum_int8_t(ncclDevComm*)"),
            "ncclKernel_AllReduce_TREE_LL128_Sum_int8_t");
  EXPECT_EQ(Kernel("triton_poi_fused_add_mul_0"), "triton_poi_fused_add_mul_#");
  EXPECT_EQ(Kernel("Cijk_Alik_Bljk_BBS_BH_Bias_MT16x16x256_MI16x16x1_SN_LDSB1"),
            Kernel("Cijk_Alik_Bljk_BBS_BH_Bias_MT256x32x64_MI16x16x1_SN_DTLA0_K1"));
  for (const char* kept :
       {"kernel_unified_attention_2d", "permute_2D_data_kernel", "Rmsnorm2dFwd", "scudnn_nn_v1",
        "ForwardV2Kernel", "log10_kernel", "exp2_kernel", "nhwc2nchw", "l2norm", "L2Norm",
        "gemm_w4a16", "dequant_4bit", "sm_fp8_gemm_1d2d_impl", "float8_e4m3fn", "int8_tf32_u8"}) {
    EXPECT_EQ(Kernel(kept), kept);
  }
  EXPECT_NE(Kernel("gemm_f16"), Kernel("gemm_f32"));
}

TEST(NameLabel, OperatorsKeepTheDigitsOfWords) {
  for (const char* kept :
       {"aten::conv2d", "aten::log10", "aten::log2", "AddmmBackward0", "ClampBackward1",
        "_C::static_scaled_fp8_quant", "fbgemm::permute_2D_sparse_data", "All2All_Pooled_Req",
        "torch::jit::(anonymous namespace)::DifferentiableGraphBackward", "aten::_foreach_add_",
        "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", "<forward op>",
        "aten::fft_c2r", "mx::quant_mxfp4", "aten::view_as_complex128"}) {
    EXPECT_EQ(Operator(kept), kept);
  }
  EXPECT_EQ(Operator("Torch-Compiled Region: 0/1"), "Torch-Compiled Region: #/#");
  EXPECT_EQ(Operator("triton_poi_fused_add_0"), "triton_poi_fused_add_#");
}

TEST(NameLabel, RangesAndPython) {
  EXPECT_EQ(Range("ProfilerStep#551"), "ProfilerStep#");
  EXPECT_EQ(Range("Optimizer.step#SGD.step"), "Optimizer.step#SGD.step");
  EXPECT_EQ(Range("step[DECODE bs=32]"), "step[DECODE bs=#]");
  EXPECT_EQ(Range("execute_context_1(888_788544)_generation_0(0)"),
            "execute_context_#(#_#)_generation_#(#)");
  EXPECT_EQ(Range("execute_32_context_0(sq0sk0)_generation_32(sq32sk32785sqsq32)"),
            "execute_#_context_#(sq#sk#)_generation_#(sq#sk#sqsq#)");
  EXPECT_EQ(
      Range("## Call CompiledFxGraph fud64jsrxcxliekg7lptyw24yz5k3oa65b73wjfbhz6j2fg6ouu7 ##"),
      "## Call CompiledFxGraph # ##");
  EXPECT_EQ(Range("request 550e8400-e29b-41d4-a716-446655440000 layer12 decoder fp8"),
            "request # layer# decoder fp8");
  EXPECT_EQ(Python("nn.Module: Linear_77"), "nn.Module: Linear_#");
  EXPECT_EQ(Python("nn.Module: Conv2d_3"), "nn.Module: Conv2d_#");
  EXPECT_EQ(Python("vllm/v1/worker/utils_2.py(69): relu6"), "vllm/v1/worker/utils_2.py(#): relu6");
  EXPECT_EQ(Python("<built-in method all of type object at 0x7d6b7761df60>"),
            "<built-in method all of type object at #>");
  EXPECT_EQ(
      Python("/tmp/torchinductor_root/ob/cobhwrc24pdghpldxgebph5xuspi6ydi477zebl46iwvbkhoe4qu.py"
             "(132): call"),
      "/tmp/torchinductor_root/#/#.py(#): call");
}

TEST(NameLabel, CallsAndCopiesStayAsWritten) {
  for (const char* name : {"cudaStreamGetCaptureInfo_v2", "hipGetDevicePropertiesR0600",
                           "cuMemcpyDtoHAsync_v2", "cudaLaunchKernel_ptsz"}) {
    EXPECT_EQ(LabelOfName(EventKind::kRuntime, name), name);
    EXPECT_EQ(LabelOfName(EventKind::kDriver, name), name);
  }
  EXPECT_EQ(LabelOfName(EventKind::kRuntime, "cudaFree 0x7f00"), "cudaFree #");
  for (const char* name : {"Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pinned -> Device)"}) {
    EXPECT_EQ(LabelOfName(EventKind::kMemcpy, name), name);
  }
  EXPECT_EQ(LabelOfName(EventKind::kMemset, "Memset (Device)"), "Memset (Device)");
  EXPECT_EQ(LabelOfName(EventKind::kCommunication, "nccl:_all_gather_base"),
            "nccl:_all_gather_base");
}

void ExpectSound(std::string_view name) {
  for (size_t kind = 0; kind < trace::kEventKinds; ++kind) {
    const auto event_kind = static_cast<EventKind>(kind);
    const std::string label = LabelOfName(event_kind, name);
    ASSERT_EQ(label.empty(), name.empty());
    ASSERT_LE(label.size(), kLongestLabel);
    ASSERT_EQ(LabelOfName(event_kind, label), label) << trace::EventKindName(event_kind) << name;
  }
}

TEST(NameLabel, LabelsOfLabelsAreThemselves) {
  const std::vector<std::string> parts = {"_Z",
                                          "_ZN3foo",
                                          "E",
                                          "I",
                                          "L",
                                          "N",
                                          "S0_",
                                          "<",
                                          ">",
                                          "(",
                                          ")",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          " ",
                                          "#",
                                          "operator",
                                          "void ",
                                          "::",
                                          "12",
                                          "0",
                                          "0x1f",
                                          "f16",
                                          "e4m3",
                                          "2d",
                                          "_",
                                          "layer",
                                          "-",
                                          "~",
                                          "abc",
                                          "deadbeef",
                                          "12345",
                                          "const",
                                          ".py(",
                                          ".kd",
                                          "Cijk_",
                                          "_MT",
                                          "1b2c",
                                          "v2",
                                          "(anonymous namespace)",
                                          "<unnamed>",
                                          "{lambda(int)#1}",
                                          "lambda",
                                          "\xff",
                                          "/",
                                          "'",
                                          "550e8400-e29b-41d4-a716-446655440000",
                                          "fud64jsrxcxliekg7lptyw24yz5k3oa65b73wjfbhz6j2fg6ouu7"};
  std::mt19937 random(20);
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (size_t left = 1 + random() % 12; left > 0; --left) name += parts[random() % parts.size()];
    ExpectSound(name);
  }
  for (int round = 0; round < 2000; ++round) {
    std::string name(1 + random() % 40, ' ');
    for (char& c : name) c = static_cast<char>(random());
    ExpectSound(name);
  }
}

TEST(NameLabel, HostileNames) {
  constexpr size_t kMany = 20000;
  for (const char c :
       {'<', '>', '(', ')', '{', '[', '\0', '\xff', '1', 'a', ' ', '#', '-', '_', 'N'}) {
    ExpectSound(std::string(kMany, c));
    ExpectSound("_Z" + std::string(kMany, c));
    ExpectSound("f" + std::string(kMany, c));
  }
  for (const std::string_view unit :
       {"N1a",      "I",  "f<",  "f(",  "operator", "operator<",  "operator<<", "f<(", "<(",
        "_Z1f",     "PL", "Z1f", "Li",  "0x",       "a1",         "a1 ",        "[x",  "{lambda(",
        "() const", "A_", "X",   "1aI", "-0",       "(anonymous "}) {
    std::string name;
    while (name.size() < kMany) name += unit;
    ExpectSound(name);
    ExpectSound("_ZN1fI" + name);
    ExpectSound("_Z1fI" + name);
  }
  ExpectSound("");
  ExpectSound(std::string_view("\0a\0", 3));
}

// Takes minutes where time is not linear.
TEST(NameLabel, LongHostileNames) {
  constexpr size_t kMegabyte = 1 << 20;
  for (const std::string_view unit : {"<", "f<", "f(", "a1", "1", " ", "[x", "()", "PL", "-0"}) {
    std::string name = "_ZN1fI";
    while (name.size() < kMegabyte) name += unit;
    for (const EventKind kind : {EventKind::kKernel, EventKind::kRange}) {
      EXPECT_LE(LabelOfName(kind, name).size(), kLongestLabel);
      EXPECT_LE(LabelOfName(kind, name.substr(6)).size(), kLongestLabel);
    }
  }
}

TEST(NameLabel, LongLabelsAreCutApart) {
  const std::string long_name(2000, 'x');
  EXPECT_EQ(Range(long_name).size(), kLongestLabel);
  EXPECT_NE(Range(long_name + "y"), Range(long_name + "z"));
  EXPECT_EQ(Range(long_name + "_1"), Range(long_name + "_2"));
  // Not within a character.
  std::string umlauts = "x";
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  const std::string label = Range(umlauts);
  EXPECT_EQ(label.find('~') % 2, 1u);
}

}  // namespace
}  // namespace telltale::tokens
