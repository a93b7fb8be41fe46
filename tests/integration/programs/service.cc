// SPDX-License-Identifier: GPL-2.0-or-later
// A service of some threads that hand each other requests: containers, exceptions, waits, no frame pointers.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Request {
	int number;
	std::string text;
};

class Queue
{
	std::mutex lock;
	std::condition_variable changed;
	std::deque<Request> requests;

      public:
	void put(Request request)
	{
		std::lock_guard<std::mutex> guard(lock);
		requests.push_back(std::move(request));
		changed.notify_one();
	}
	Request take()
	{
		std::unique_lock<std::mutex> guard(lock);
		changed.wait(guard, [this] { return !requests.empty(); });
		Request request = std::move(requests.front());
		requests.pop_front();
		return request;
	}
};

struct Refused : std::runtime_error {
	using std::runtime_error::runtime_error;
};

static size_t count_words(const std::string &text)
{
	static const std::regex word("[a-z]+");

	return std::distance(std::sregex_iterator(text.begin(), text.end(), word), {});
}

static std::string answer(const Request &request)
{
	std::map<std::string, size_t> seen;
	std::ostringstream stream;
	std::vector<int> numbers(2000);

	for (size_t i = 0; i < numbers.size(); i++)
		numbers[i] = (int)(i * 7919 + request.number) % 10007;
	std::sort(numbers.begin(), numbers.end());
	seen[request.text] = count_words(request.text);
	if (request.number % 7 == 0)
		throw Refused("request " + std::to_string(request.number));
	stream << seen.begin()->first << numbers[3];
	return stream.str();
}

static void serve(Queue &requests, Queue &answers)
{
	for (;;) {
		Request request = requests.take();

		try {
			answers.put({request.number, answer(request)});
		} catch (const Refused &refused) {
			answers.put({request.number, refused.what()});
		}
	}
}

int main()
{
	Queue requests, answers;
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back(serve, std::ref(requests), std::ref(answers));
	puts("ready");
	fflush(stdout);
	for (int number = 1;; number++) {
		requests.put({number, "some words that are counted " + std::to_string(number)});
		if (number % 3)
			continue;
		for (int i = 0; i < 3; i++)
			answers.take();
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
}
