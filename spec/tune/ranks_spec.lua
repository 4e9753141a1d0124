-- Workers that are started alike on one machine take a device each.
local fake = require "spec.hip.fake"
local ranks = require "luhip.tune.ranks"

describe("a worker among others of its machine", function()
  require("spec.support").scope()

  local function device(environment)
    environment.FAKE_CUDA_DEVICES = environment.FAKE_CUDA_DEVICES or "2"
    return fake.cuda('io.write(tostring(require("luhip.tune.ranks").device()))', { env = environment })
  end

  local there
  lazy_setup(function()
    there = fake.cuda [[
      for _, device in ipairs(luhip.devices()) do
        if not device.reason then
          io.write(device.backend)
          break
        end
      end]] == "cuda"
  end)

  it("takes the GPU of its number, from the first again behind the last", function()
    if not there then
      pending "a GPU of another back end stands before the fake one"
    end
    for _, name in ipairs { "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID" } do
      assert.equal("cuda:0", device { [name] = "0" })
      assert.equal("cuda:1", device { [name] = "1" })
      assert.equal("cuda:0", device { [name] = "2" })
    end
  end)

  it("takes what a script says where nothing is to choose, or a setting chose", function()
    assert.equal("nil", device {})
    assert.equal("nil", device { SLURM_LOCALID = "" })
    assert.equal("nil", device { SLURM_LOCALID = "1", FAKE_CUDA_DEVICES = "1" })
    assert.equal("nil", device { SLURM_LOCALID = "1", LUHIP_DEVICE = "cuda:0" })
    assert.is_true(ranks.number() == nil or ranks.number() >= 0)
  end)
end)
