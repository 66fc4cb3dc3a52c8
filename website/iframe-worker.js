// A page that is opened as a file gets no worker from a browser. Search asks for one: its script then runs in a hidden
// frame, and messages go to and fro as with a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inner = this.frame.contentWindow
      inner.document.open()
      inner.document.write("<!doctype html><html><body></body></html>")
      inner.document.close()
      inner.postMessage = message => this.dispatchEvent(new MessageEvent("message", { data: message }))
      // Scripts that a worker loads while it runs: one after the other, and a promise in place of waiting.
      inner.importScripts = (...scripts) => scripts.reduce((before, one) => before.then(() => load(inner, one)), Promise.resolve())
      load(inner, url).then(() => {
        this.ready = true
        for (const message of this.waiting) this.deliver(message)
      })
    }
    postMessage(message) {
      if (this.ready) this.deliver(message)
      else this.waiting.push(message)
    }
    deliver(message) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message }))
    }
    terminate() {
      this.frame.remove()
    }
  }
}

function load(inner, url) {
  return new Promise((resolve, reject) => {
    const script = inner.document.createElement("script")
    script.src = new URL(url, location.href)
    script.onload = resolve
    script.onerror = reject
    inner.document.body.append(script)
  })
}
