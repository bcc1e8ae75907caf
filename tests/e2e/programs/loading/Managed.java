// Managed: a Java program that uses the GPU through a native library. The virtual machine turns SIGSEGV into
// NullPointerException and StackOverflowError, polls by page protection, and stops its threads by it; results are
// read through direct buffers while its collector works.
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

public class Managed {
  static native ByteBuffer buffer();
  static native void compute(int value);
  static native void computePinned(int value);

  static int[] none;
  static Object kept;

  static int nulls(int times) {
    int caught = 0;
    for (int i = 0; i < times; ++i) {
      try {
        int[] array = (i % 10 == 0) ? null : new int[] {i};
        caught += array[0] * 0;
      } catch (NullPointerException e) {
        ++caught;
      }
    }
    return caught;
  }

  static int deep(int depth) {
    return deep(depth + 1) + 1;
  }

  static long sum(ByteBuffer buffer) {
    long result = 0;
    for (int i = 0; i < buffer.capacity(); i += 4) result += buffer.getInt(i);
    return result;
  }

  public static void main(String[] arguments) throws Exception {
    System.loadLibrary("e2e_managed");
    System.out.println("nulls " + nulls(200000));
    ByteBuffer buffer = buffer().order(ByteOrder.nativeOrder());
    long total = 0;
    for (int i = 0; i < 20; ++i) {
      computePinned(i);
      kept = new byte[1 << 20];
      if (i % 2 == 0) total += sum(buffer);
      if (nulls(1000) != 100) System.out.println("null checks went wrong");
    }
    System.out.println("total " + total);
    try {
      System.out.println(deep(0));
    } catch (StackOverflowError e) {
      System.out.println("overflow caught");
    }
    final long[] sums = new long[3];
    Thread[] threads = new Thread[3];
    computePinned(7);
    for (int t = 0; t < 3; ++t) {
      final int me = t;
      threads[t] = new Thread(() -> {
        for (int i = 0; i < 20; ++i) {
          sums[me] += sum(buffer);
          byte[] garbage = new byte[1 << 18];
          sums[me] += garbage.length + nulls(1000);
        }
      });
      threads[t].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println("threads " + sums[0] + " " + sums[1] + " " + sums[2]);
    for (int i = 0; i < 10; ++i) computePinned(i);
    compute(3);
    System.gc();
    System.out.println("last " + sum(buffer));
  }
}
