/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works through much of libstdc++ at each line of its input, and prints what came out. */
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static void exceptions(std::ostream &out)
{
	int caught = 0;

	for (int i = 0; i < 50; i++) {
		try {
			switch (i % 5) {
			case 0: throw std::runtime_error("run time");
			case 1: std::string("short").at(99); break;
			case 2: std::stoi("no number"); break;
			case 3: std::vector<int>(3).at(7); break;
			default: throw i;
			}
		} catch (const std::exception &error) {
			caught += std::string(error.what()).size();
		} catch (int number) {
			caught += number;
		}
	}
	out << caught << '\n';
}

static void streams(std::ostream &out)
{
	std::stringstream stream;
	double real;
	int number;
	std::string word;

	for (int i = 0; i < 40; i++)
		stream << i * 17 << ' ' << std::setprecision(i % 9) << i / 7.0 << " word" << i << '\n';
	for (long sum = 0; stream >> number >> real >> word; sum += number)
		out << sum << std::hex << number << std::dec << std::setw(9) << real << word << ' ';
	out << std::put_money(12345) << std::boolalpha << true << std::scientific << 1e100 << '\n';
}

static void containers(std::ostream &out)
{
	std::map<std::string, int> map;
	std::unordered_map<int, std::string> hash;
	std::set<int> set;
	std::list<int> list;
	std::mt19937 random(7);

	for (int i = 0; i < 500; i++) {
		map[std::to_string(random() % 100)] += i;
		hash[i] = std::to_string(i * i);
		set.insert(random() % 1000);
		list.push_back(random() % 1000);
		if (i % 3 == 0)
			set.erase(set.begin());
	}
	list.sort();
	for (auto &entry : map)
		out << entry.first << '=' << entry.second << ' ';
	out << hash.size() << ' ' << set.size() << ' ' << list.front() << ' ' << list.back() << '\n';
}

static void texts(std::ostream &out)
{
	std::string text = "the quick brown fox";
	std::regex word("(\\w+) (\\w+)");
	char digits[64];
	auto end = std::to_chars(digits, digits + sizeof(digits), 3.14159265358979).ptr;

	for (int i = 0; i < 20; i++)
		text.insert(text.size() / 2, "x").replace(0, 1, "T").append(3, 'y').erase(2, 1);
	out << text << ' ' << text.find("fox") << ' ' << std::regex_replace(text, word, "$2 $1") << ' ';
	out << std::string(digits, end) << ' ' << std::filesystem::path("/a/./b/../c").lexically_normal() << '\n';
}

static void threads(std::ostream &out)
{
	std::vector<std::future<long>> futures;
	std::mutex mutex;
	std::condition_variable condition;
	bool ready = false;
	long sum = 0;

	for (int i = 0; i < 4; i++)
		futures.push_back(std::async(std::launch::async, [&, i] {
			std::unique_lock<std::mutex> lock(mutex);
			condition.wait(lock, [&] { return ready; });
			return i * 1000L;
		}));
	{
		std::lock_guard<std::mutex> lock(mutex);
		ready = true;
	}
	condition.notify_all();
	for (auto &future : futures)
		sum += future.get();
	out << sum << ' ' << *std::make_shared<std::string>("shared") << '\n';
}

int main()
{
	std::string line;

	std::cout << "ready" << std::endl;
	while (std::getline(std::cin, line)) {
		std::ostringstream out;

		for (int i = 0; i < 5; i++) {
			exceptions(out);
			streams(out);
			containers(out);
			texts(out);
			threads(out);
		}
		std::cout << std::hash<std::string>()(out.str()) << ' ' << out.str().size() << std::endl;
	}
	return 0;
}
