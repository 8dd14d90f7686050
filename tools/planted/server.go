// SPDX-License-Identifier: GPL-2.0-or-later
// `server PORT BURN_MS LOG`: a goroutine a connection, and one that burns.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

func serve(connection net.Conn) {
	buffer := make([]byte, 4096)
	for {
		if _, err := connection.Read(buffer); err != nil {
			return
		}
		connection.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEND\r\n"))
	}
}

func burn(span time.Duration) {
	for {
		time.Sleep(500 * time.Millisecond)
		for begin := time.Now(); time.Since(begin) < span; {
		}
	}
}

func main() {
	span, _ := strconv.Atoi(os.Args[2])
	if span > 0 {
		go burn(time.Duration(span) * time.Millisecond)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		connection, err := listener.Accept()
		if err == nil {
			go serve(connection)
		}
	}
}
