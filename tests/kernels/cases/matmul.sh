# SPDX-License-Identifier: GPL-2.0-or-later
# matmul OPTION...: the sizes of matrix products that a program asks for, by functions that it has in itself.
start_program multiplies 100
start_recording -o out.ndjson --no-blocking --cpu-hz 0 --alloc off -F 'multiplies:cublas*' "$@"
run_truth
stop_recording
end_truth
check_counts

# sizes FUNCTION TEXT COUNT
sizes() {
	equal "$(recorded matmul "$1" "$2")" "$3" "$1 with $2"
}

sizes cublasSgemm_v2 '"type_a":"f32","type_b":"f32","type_c":"f32","m":128,"n":64,"k":256,"batch":1}' 100
sizes cublasSgemm_v2 '"type_a":"f32","type_b":"f32","type_c":"f32","m":11,"n":12,"k":13,"batch":1}' 100
sizes cublasDgemm_v2_64 '"type_a":"f64","type_b":"f64","type_c":"f64","m":8589934592,"n":2,"batch":1}' 100
sizes cublasGemmStridedBatchedEx '"type_a":"f16","type_b":"bf16","type_c":"f32","m":21,"n":22,"k":23,"batch":24}' 100
sizes cublasDgemmBatched '"type_a":"f64","type_b":"f64","type_c":"f64","m":11,"n":12,"k":13,"batch":14}' 100
