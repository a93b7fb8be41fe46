/* The version that --version prints and that every capture names. */
#ifndef GPUPROBE_BASE_VERSION_H
#define GPUPROBE_BASE_VERSION_H

#define GPUPROBE_VERSION "0.1.0"

#endif
