/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device of PyTorch's (PrivateUse1) whose memory is the host's: each operation is done by PyTorch's code for CPUs, and launches a kernel of
 * its name by the functions of CUDA that device_begin() is given. So autograd has a thread of its own for it, as it has for GPUs, without a
 * frame of Python. For PyTorch 1.13 and 2.
 */
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <ATen/detail/PrivateUse1HooksInterface.h>
#endif

#include <ATen/record_function.h>
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>
#include <string>

#if TORCH_VERSION_MAJOR < 2
template <typename type> using optional = c10::optional<type>;
#define NOTHING c10::nullopt
#define CONST const
#else
template <typename type> using optional = std::optional<type>;
#define NOTHING std::nullopt
#define CONST
#endif

using launch_function = int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
using get_function = int (*)(void **, void *, const char *);

static launch_function launch_kernel;
static get_function get_kernel;
static void *module_handle, *stream_handle;

static void launch(const std::string &operation)
{
	static std::mutex lock;
	static std::map<std::string, void *> kernels;
	std::lock_guard<std::mutex> guard(lock);
	void *&kernel = kernels[operation];

	if (!launch_kernel)
		return;
	if (!kernel && get_kernel(&kernel, module_handle, operation.c_str()))
		return;
	launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream_handle, nullptr, nullptr);
}

extern "C" void device_begin(void *launch_address, void *get_address, void *module_address, void *stream_address)
{
	launch_kernel = (launch_function)launch_address;
	get_kernel = (get_function)get_address;
	module_handle = module_address;
	stream_handle = stream_address;
}

/* As torch.autograd.profiler.emit_nvtx() has them, which builds of PyTorch without CUDA refuse: the numbers are PyTorch's own, the names made as its
 * getNvtxStr() makes them. */
static std::unique_ptr<at::ObserverContext> begin_range(const at::RecordFunction &function)
{
	std::string name = function.name();

	if (function.seqNr() >= 0)
		name += ", seq = " + std::to_string(function.seqNr());
	if (function.handle() > 0)
		name += ", op_id = " + std::to_string(function.handle());
	nvtxRangePushA(name.c_str());
	return nullptr;
}

static void end_range(const at::RecordFunction &, at::ObserverContext *)
{
	nvtxRangePop();
}

extern "C" void device_emit_ranges(void)
{
	at::addGlobalCallback(at::RecordFunctionCallback(begin_range, end_range).needsIds(true));
}

static constexpr auto DEVICE = c10::DeviceType::PrivateUse1;

struct Guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override { return DEVICE; }
	c10::Device exchangeDevice(c10::Device) const override { return c10::Device(DEVICE, 0); }
	c10::Device getDevice() const override { return c10::Device(DEVICE, 0); }
	void setDevice(c10::Device) const override {}
	void uncheckedSetDevice(c10::Device) const noexcept override {}
	c10::Stream getStream(c10::Device device) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, device); }
	c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
	c10::DeviceIndex deviceCount() const noexcept override { return 1; }
	bool queryStream(const c10::Stream &) const override { return true; }
	void synchronizeStream(const c10::Stream &) const override {}
	void record(void **, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override {}
	void block(void *, const c10::Stream &) const override {}
	bool queryEvent(void *) const override { return true; }
	void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}
	c10::Stream getDefaultStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

#if TORCH_VERSION_MAJOR >= 2
/* Autograd asks whether there is an accelerator. */
struct Hooks final : at::PrivateUse1HooksInterface {
	bool isBuilt() const override { return true; }
	bool isAvailable() const override { return true; }
	bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};
static Hooks hooks;
static const bool hooked = (at::RegisterPrivateUse1HooksInterface(&hooks), true);
#endif

struct Memory final : c10::Allocator {
	c10::DataPtr allocate(size_t bytes) CONST override
	{
		void *data = malloc(bytes ? bytes : 1);

		return {data, data, &free, c10::Device(DEVICE, 0)};
	}
	c10::DeleterFnPtr raw_deleter() const override { return &free; }
#if TORCH_VERSION_MAJOR >= 2
	void copy_data(void *to, const void *from, size_t bytes) const override { memcpy(to, from, bytes); }
#endif
};
static Memory memory;

static at::Tensor empty(at::IntArrayRef size, optional<at::ScalarType> type, optional<at::Layout>, optional<at::Device>, optional<bool>,
			optional<at::MemoryFormat> format)
{
	return at::detail::empty_generic(size, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), at::dtype_or_default(type), format);
}

static at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, optional<at::ScalarType> type, optional<at::Layout>,
				optional<at::Device>, optional<bool>)
{
	return at::detail::empty_strided_generic(size, stride, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), at::dtype_or_default(type));
}

static at::Tensor on_host(const at::Tensor &tensor)
{
	return tensor.is_cpu() ? tensor : at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

static at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool)
{
	launch("copy");
	on_host(to).copy_(on_host(from));
	return to;
}

static at::Tensor copy_from_and_resize(const at::Tensor &from, const at::Tensor &to)
{
	on_host(to).copy_(on_host(from));
	return to;
}

static at::Tensor as_strided(const at::Tensor &tensor, at::IntArrayRef size, at::IntArrayRef stride, optional<int64_t> offset)
{
	auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(tensor.storage()), tensor.key_set(), tensor.dtype());

	view.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
	view.unsafeGetTensorImpl()->set_storage_offset(offset.value_or(tensor.storage_offset()));
	return view;
}

static at::Tensor view(const at::Tensor &tensor, at::IntArrayRef size)
{
	std::vector<int64_t> wanted(size.begin(), size.end()), strides(size.size());
	int64_t known = 1, stride = 1;

	for (int64_t one : wanted)
		known *= one == -1 ? 1 : one;
	for (int64_t &one : wanted)
		one = one == -1 ? tensor.numel() / known : one;
	for (size_t i = wanted.size(); i-- > 0; stride *= wanted[i])
		strides[i] = stride;
	return ::as_strided(tensor, wanted, strides, NOTHING);
}

static void fallback(const c10::OperatorHandle &operation, torch::jit::Stack *stack)
{
	launch(operation.schema().name().substr(strlen("aten::")));
	at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
	library.impl("empty.memory_format", empty);
	library.impl("empty_strided", empty_strided);
	library.impl("_copy_from", copy_from);
	library.impl("_copy_from_and_resize", copy_from_and_resize);
	library.impl("as_strided", as_strided);
	library.impl("view", view);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library)
{
	library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
