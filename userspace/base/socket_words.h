/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With which the words of a socket end at which a process serves others: who makes them and who tells by them for what a thread waits. */
#ifndef GPUPROBE_BASE_SOCKET_WORDS_H
#define GPUPROBE_BASE_SOCKET_WORDS_H

#define SOCKET_ACCEPTED_WORD "(accepted)"
#define SOCKET_LISTENS_WORD  "(listening)"

#endif
